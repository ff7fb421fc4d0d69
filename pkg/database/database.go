// Package database is the contract between dbtester and the systems it
// measures: what a database is, how a driver plans a member, how a client
// applies one operation, and how an outcome is told.
//
// A driver plans and never executes: it returns files, commands and addresses
// as data, and the agent carries them out. Everything a driver can do beyond
// the three methods of [Driver] is an optional interface of this package, found
// by type assertion.
package database

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Op names one kind of operation of a load. The set is closed.
type Op string

// The operations. Write creates a key that did not exist; Update overwrites one
// that does.
const (
	OpWrite       Op = "write"
	OpUpdate      Op = "update"
	OpRead        Op = "read"
	OpReadOneshot Op = "read-oneshot"
	OpDelete      Op = "delete"
	OpRange       Op = "range"
	OpSwap        Op = "swap"
)

// ReadMode names what a read promises. The set is closed and is printed
// wherever a read is measured, because reads of different modes do not compare.
type ReadMode string

// The read modes, strongest first.
const (
	// ReadLinearizable sees every write that finished before the read began.
	ReadLinearizable ReadMode = "linearizable"
	// ReadSyncGet is ZooKeeper's sync followed by get: two round trips, close to
	// linearizable but not proven so.
	ReadSyncGet ReadMode = "sync+get"
	// ReadLeader is answered by the leader from its lease (Consul's default).
	ReadLeader ReadMode = "leader"
	// ReadStale is answered by any member from what it has (etcd's serializable,
	// ZooKeeper's get, Consul's stale).
	ReadStale ReadMode = "stale"
)

// Database is one system that dbtester can run: its name, what is known of it
// before anything starts, and a maker of drivers.
type Database struct {
	// Name is the word before "__" in an id of an experiment file: "etcd".
	Name string
	Info Info
	// New returns a driver that is a pointer to an options struct holding every
	// default. Fields carry yaml tags for the experiment file, a doc tag with one
	// line of help, and a classic tag naming the keys of the classic files that
	// mean the same, comma separated.
	New func() Driver
}

// Info is what is known of a database without running it. It is checked before
// anything starts.
type Info struct {
	// Reads are the read modes the client supports, the default first.
	Reads []ReadMode
	// Operations are the operations the client supports.
	Operations []Op
	// Ports are the default ports by role; "client" is the one clients dial.
	Ports map[string]int
	// Tools are the executables a plan can use besides this binary, by the names
	// that [Member.Tools] is keyed with, the server itself first; a plan that cannot
	// do without a missing one says so.
	Tools []string
	// Embedded is the version of the server in this binary, in the words of its
	// release; empty if there is none.
	Embedded string
	// SharedConn says that one Client is safe for concurrent use; otherwise an
	// experiment must have as many connections as clients.
	SharedConn bool
	// TLS says that members and clients can speak TLS, Auth that clients can show
	// credentials.
	TLS, Auth bool
	// MaxValue is the largest value in bytes that the default options accept, under
	// a key of 256 bytes if that matters; a [Limiter] says it of other options.
	MaxValue int
	// Fsync states in one line when a write is on disk, with default options.
	Fsync string
}

// Driver plans members of one database and dials them. A driver's fields are
// its options; after decoding they do not change, and every method is safe for
// concurrent use.
type Driver interface {
	// Plan returns what one member needs. It touches nothing outside its
	// arguments: the same member gives the same plan.
	Plan(Member) (Plan, error)
	// Ready returns nil when the member with that index serves requests as part of
	// a quorum, else why not yet. It is polled; ctx bounds one try.
	Ready(ctx context.Context, t Target, member int) error
	// Dial opens one connection. The target's Endpoints are in the order the
	// connection should prefer; the client owns its connection until Close.
	Dial(ctx context.Context, t Target) (Client, error)
}

// Client applies operations over one connection.
//
// The caller fills key and value from buffers it will reuse: a client may keep
// them only when it returns an error. No method retries a write silently. Every
// error is or wraps an [*Error], or is classed by [Classify].
type Client interface {
	// Put creates or overwrites key.
	Put(ctx context.Context, key, value []byte) error
	// Get returns the value of key; the value belongs to the caller. A key that
	// does not exist is [ErrNotFound].
	Get(ctx context.Context, key []byte, mode ReadMode) ([]byte, error)
	// Close releases the connection. It is called once, after the last call.
	Close() error
}

// Host is one machine of a cluster: its address and the ports a member uses
// there, by role. Roles that are absent take the default of [Info].
type Host struct {
	Addr  string         `json:"addr" yaml:"addr"`
	Ports map[string]int `json:"ports,omitempty" yaml:"ports,omitempty"`
}

// Member says which member of which cluster to plan.
type Member struct {
	// Index is this member's place in Hosts, from 0.
	Index int
	// Hosts are all members in order, with every port filled in.
	Hosts []Host
	// Dir is the member's own directory, absolute. Plan paths are relative to it.
	Dir string
	// Tools maps names of Info.Tools to executables or directories; what the agent
	// has none of is not there.
	Tools map[string]string
	// TLS is nil for plaintext.
	TLS *TLS
}

// Self returns this member's own host.
func (m Member) Self() Host { return m.Hosts[m.Index] }

// Target says what to dial.
type Target struct {
	// Endpoints are host:port addresses of the members' client ports, one per
	// member and in the members' order.
	Endpoints []string
	// Prefer is the index in Endpoints that this connection should use; -1 leaves
	// it to the client library.
	Prefer int
	// TLS is nil for plaintext, Auth for a client that shows no credentials.
	TLS  *TLS
	Auth *Auth
	// MaxBytes is the largest key plus value that will be sent or read, so that a
	// client can size its buffers; 0 means unknown.
	MaxBytes int
}

// Plan is what one member needs, as data. Relative paths are below Member.Dir.
type Plan struct {
	// Files are written before the first command.
	Files []File `json:"files,omitempty"`
	// Commands are started in order and stopped in reverse.
	Commands []Command `json:"commands"`
	// DataDirs are created empty before start and measured after stop.
	DataDirs []string `json:"data_dirs"`
	// Listen are the host:port addresses the commands will listen on, by TCP, or by
	// UDP if [UDP] follows. They are checked free before start and recorded.
	Listen []string `json:"listen"`
	// Mute says that members planned so tell neither their version nor who leads,
	// whatever else the driver can: a proxy of foreign make hides what it knows.
	Mute bool `json:"mute,omitempty"`
	// LogRules find events in the members' logs when a run is analyzed.
	LogRules []LogRule `json:"log_rules,omitempty"`
}

// UDP ends an address of [Plan.Listen] that takes datagrams: "10.0.0.1:8301/udp".
const UDP = "/udp"

// File is one file of a plan.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// Secret files are not shown by a dry run and not collected.
	Secret bool `json:"secret,omitempty"`
}

// Command is one child process. Argv never passes through a shell.
type Command struct {
	// Name is unique in the plan and names the log file NAME.log.
	Name string `json:"name"`
	// Self runs this binary again; Path is then empty.
	Self bool   `json:"self,omitempty"`
	Path string `json:"path,omitempty"`
	// Args are the arguments after argv[0].
	Args []string `json:"args"`
	// Env entries are added to the agent's environment.
	Env []string `json:"env,omitempty"`
	// WaitListen holds the next command back until these addresses accept.
	WaitListen []string `json:"wait_listen,omitempty"`
}

// LogRule turns matching log lines into events of a run.
type LogRule struct {
	// Event is the kind of event, such as "leader changed".
	Event string `json:"event"`
	// Pattern is a regular expression (RE2) matched against each line.
	Pattern string `json:"pattern"`
}

// Validator is a driver that checks its decoded options against the machine
// they will run on. Problems are all reported, joined.
type Validator interface {
	Validate(h HostFacts) error
}

// HostFacts is what a driver may know of the machine before it plans.
type HostFacts struct {
	MemoryBytes int64
	CPUs        int
}

// Embedded is a driver whose server is part of this binary. Serve runs one
// member until ctx ends; args are those its plan gave after the database name.
type Embedded interface {
	Serve(ctx context.Context, args []string) error
}

// Leader is a driver that knows which member leads: its index in the target's
// endpoints.
type Leader interface {
	Leader(ctx context.Context, t Target) (int, error)
}

// Versioner is a driver that asks a running member for its version, such as
// "3.6.16".
type Versioner interface {
	Version(ctx context.Context, t Target, member int) (string, error)
}

// Limiter is a driver whose options say how large a value may be: the largest in
// bytes that is surely taken under a key of keySize bytes, 0 if there is none.
// Without this interface it is [Info.MaxValue] whatever the options are.
type Limiter interface {
	MaxValue(keySize int) int
}

// Counter is a driver that counts the keys a cluster holds, by asking it.
type Counter interface {
	CountKeys(ctx context.Context, t Target) (int64, error)
}

// Deleter, Ranger and Swapper are optional on a [Client]; the conformance suite
// proves that they agree with Info.Operations.
type Deleter interface {
	// Delete removes key; a missing key is not an error.
	Delete(ctx context.Context, key []byte) error
}

// Ranger reads several neighbouring keys at once.
type Ranger interface {
	// Range reads keys with their values, at most limit, from key on in the
	// database's order. It returns how many keys there were, and the bytes of all
	// their values together.
	Range(ctx context.Context, key []byte, limit int, mode ReadMode) (keys int, size int64, err error)
}

// Swapper replaces a value only if it is still the expected one.
type Swapper interface {
	// Swap sets key to value if it holds old; otherwise the error's class is
	// [ClassConflict].
	Swap(ctx context.Context, key, old, value []byte) error
}

// Registry is an ordered set of databases, looked up by name.
type Registry struct{ list []Database }

// NewRegistry returns a registry of the databases in the order given. It panics
// on a name given twice: the list is written by hand.
func NewRegistry(list ...Database) *Registry {
	seen := map[string]bool{}
	for _, d := range list {
		if seen[d.Name] {
			panic(fmt.Sprintf("database %q is listed twice", d.Name))
		}
		seen[d.Name] = true
	}
	return &Registry{list: slices.Clone(list)}
}

// All returns the databases in order.
func (r *Registry) All() []Database { return slices.Clone(r.list) }

// Names returns the names in order.
func (r *Registry) Names() []string {
	names := make([]string, len(r.list))
	for i, d := range r.list {
		names[i] = d.Name
	}
	return names
}

// Get returns the database of that name.
func (r *Registry) Get(name string) (Database, error) {
	for _, d := range r.list {
		if d.Name == name {
			return d, nil
		}
	}
	return Database{}, fmt.Errorf("unknown database %q (known: %s)", name, strings.Join(r.Names(), ", "))
}

// FillPorts returns hosts with every absent port set to the database's default.
func (i Info) FillPorts(hosts []Host) []Host {
	out := make([]Host, len(hosts))
	for n, h := range hosts {
		ports := make(map[string]int, len(i.Ports))
		for role, port := range i.Ports {
			ports[role] = port
		}
		for role, port := range h.Ports {
			ports[role] = port
		}
		out[n] = Host{Addr: h.Addr, Ports: ports}
	}
	return out
}
