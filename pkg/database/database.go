// Package database is the contract between dbtester and the systems it measures: the facts about a
// database, the plan for a member, the operations of a client, and their outcomes.
//
// A driver plans and never executes: it returns files, commands and addresses as data for
// the agent. Abilities beyond [Driver]'s three methods are optional interfaces in this package,
// found by type assertions.
package database

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// Database is a system dbtester can run: its name, facts known before anything starts, and a
// constructor for drivers.
type Database struct {
	// Name is the word before "__" in the ids of experiment files: "etcd".
	Name string
	Info Info
	// New returns a driver: a pointer to an options struct that holds every default.
	// Fields have a yaml tag for the experiment file, a doc tag with one help line, and a classic
	// tag with the option keys in classic files, comma separated.
	New func() Driver
}

// Info holds facts about a database. They are checked before anything starts.
type Info struct {
	// About describes the database in one line; empty if its name already does.
	About string
	// Reads are the read modes the client supports, the default first.
	Reads []workload.ReadMode
	// Promises are the documented promises for each read mode.
	Promises map[workload.ReadMode]Promise
	// Operations are the operations the client supports.
	Operations []workload.Op
	// Lists are the range modes other than [workload.RangeValues]: clients are then [Lister]s.
	Lists []workload.RangeMode
	// Ports are the default ports by role; clients dial the "client" port.
	Ports map[string]int
	// Tools names the executables a plan can use in addition to this binary, as in [Member.Tools],
	// the server itself first. Plan returns an error if a required tool is missing.
	Tools []string
	// Embedded is the release of the server in this binary; empty without one.
	Embedded string
	// SharedConn means that one Client is safe for concurrent use. Otherwise an
	// experiment must have as many connections as clients.
	SharedConn bool
	// Failover is how a client chooses the next member after it lost one, unless the load sets it.
	// The clients in common use choose so.
	Failover workload.Failover
	// TLS means that members and clients support TLS, Auth that clients support
	// credentials.
	TLS, Auth bool
	// MaxValue is the largest value in bytes with default options, under a 256-byte key if the key
	// size matters. A [Limiter] returns it for other options.
	MaxValue int
	// Fsync states in one line when a write is on disk by default, and Durability is its class.
	Fsync      string
	Durability declared.Durability
	// Sessions are the facts about its sessions with default options; a [SessionRuler] returns them
	// for other options. Nil means that clients cannot hold sessions, for the reason NoSessions.
	Sessions   *SessionFacts
	NoSessions string
	// Locks are the facts about its locks; [LockFactsOf] returns them for a driver's options. Nil
	// means that clients cannot take locks, for the reason NoLocks.
	Locks   *LockFacts
	NoLocks string
	// Watches are the facts about each kind of watch with default options, the default kind first;
	// a [WatchRuler] returns them for other options. Empty means that clients cannot watch keys,
	// for the reason NoWatches.
	Watches   []WatchFacts
	NoWatches string
}

// Promise describes the consistency a database promises for reads in one mode.
type Promise struct {
	// Linearizable reads return the latest value whose write ended before they were sent, or a
	// later one. Their answers are judged; answers in other modes are only measured.
	Linearizable bool
	// Text is the promise in a few words.
	Text string
}

// Driver plans the members of one database and dials them. A driver's fields are its options; after
// decoding they do not change, and every method is safe for concurrent use.
type Driver interface {
	// Plan returns the plan for one member. It depends only on its arguments and has no side
	// effects.
	Plan(Member) (Plan, error)
	// Ready returns nil if the member at that index serves requests as part of a quorum, else the
	// reason why not. It is polled; ctx bounds one attempt.
	Ready(ctx context.Context, t Target, member int) error
	// Dial opens one connection, which the client owns until Close.
	Dial(ctx context.Context, t Target) (Client, error)
}

// Client applies operations over one connection.
//
// The caller reuses key and value: a client may keep them only if it returns an error. No method
// retries a write, except those of a [Resender]. An error is or wraps an [*Error], or [Classify]
// classes it. A client sends a call's deadline to the server where the protocol can carry it.
type Client interface {
	// Put creates or overwrites key.
	Put(ctx context.Context, key, value []byte) error
	// Get returns the value of key, which belongs to the caller, or [ErrNotFound] if key does not
	// exist. An [AppendGetter] can read into the caller's memory.
	Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error)
	// Close releases the connection. It is called once, after the last call.
	Close() error
}

// Host is the address of one member, and its ports by role. An absent role has its default port in
// [Info].
type Host struct {
	Addr  string         `json:"addr" yaml:"addr"`
	Ports map[string]int `json:"ports,omitempty" yaml:"ports,omitempty"`
}

// Member identifies the member to plan, and its cluster.
type Member struct {
	// Index is this member's place in Hosts, from 0.
	Index int
	// Hosts are all members in order, with every port filled in.
	Hosts []Host
	// Dir is the member directory, absolute. Plan paths are relative to it.
	Dir string
	// Tools maps names in Info.Tools to executables or directories. Tools that the agent
	// lacks are absent.
	Tools map[string]string
	// TLS is nil for plaintext.
	TLS *TLS
}

// Self returns this member's host.
func (m Member) Self() Host { return m.Hosts[m.Index] }

// Plan describes how to run one member. Relative paths are below Member.Dir.
type Plan struct {
	// Files are written before the first command.
	Files []File `json:"files,omitempty"`
	// Commands are started in order and stopped in reverse.
	Commands []Command `json:"commands"`
	// DataDirs are created empty before start and measured after stop.
	DataDirs []string `json:"data_dirs"`
	// Listen are the host:port addresses the commands listen on, by TCP, or by UDP with the suffix
	// [UDP]. The agent checks that they are free, and records them.
	Listen []string `json:"listen"`
	// Mute means that members with this plan report neither their version nor the
	// leader, although the driver can ask: an external proxy does not forward either.
	Mute bool `json:"mute,omitempty"`
	// Operations are the operations members with this plan apply, if they are fewer than
	// [Info.Operations]: an external proxy may lack some. Nil means all.
	Operations []workload.Op `json:"operations,omitempty"`
	// LogRules find events in the member logs when a run is analyzed.
	LogRules []declared.LogRule `json:"log_rules,omitempty"`
	// LogTimes find the time of a log line; the first match counts.
	LogTimes []declared.LogTime `json:"log_times,omitempty"`
	// Metrics is where and how the agent requests the member metrics; nil if the member reports no
	// metrics.
	Metrics *MetricsSource `json:"-"`
	// Streams is the address in Listen at which other members receive streams over TCP, on
	// connections on which they send no data themselves; "" without one. The agent samples round
	// trips to these members there.
	Streams string `json:"-"`
}

// UDP ends a UDP address in [Plan.Listen]: "10.0.0.1:8301/udp".
const UDP = "/udp"

// File is written by the agent before the first command starts.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// Secret files are neither shown by a dry run nor collected.
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
	// Env entries are added to the agent environment.
	Env []string `json:"env,omitempty"`
	// WaitListen delays the next command until these addresses accept connections.
	WaitListen []string `json:"wait_listen,omitempty"`
}

// Validator is a driver that checks its decoded options, and whether they fit a member's machine.
// It returns all problems, joined.
type Validator interface {
	Validate(h HostFacts) error
}

// CheckOptions reports every option of a driver that would be wrong on any machine, joined.
func CheckOptions(driver any) error {
	if v, ok := driver.(Validator); ok {
		return v.Validate(HostFacts{})
	}
	return nil
}

// Classic is a driver whose defaults differ from the classic tool's settings, which were the
// defaults of the databases at that time.
type Classic interface {
	// SetClassic changes the options to those settings and describes the change, such as
	// "raft_multiplier is 5".
	SetClassic() string
}

// HostFacts describes a member's machine.
type HostFacts struct {
	MemoryBytes int64
}

// Embedded is a driver whose server is in this binary. Serve runs one member until ctx ends; args
// are the arguments in the plan without the database name.
type Embedded interface {
	Serve(ctx context.Context, args []string) error
}

// Leader is a driver that finds the leader: its index in the target endpoints. It asks the members
// in parallel, and does not wait for answers it does not need. During a load it is called twice a
// second, and calls may overlap.
type Leader interface {
	Leader(ctx context.Context, t Target) (int, error)
}

// LeaderWatcher is a [Leader] whose members take long to check credentials. It keeps one
// connection to each member and uses it to find the leader throughout a load.
type LeaderWatcher interface {
	// WatchLeader returns one function that finds the leader as Leader does, and one that
	// closes the connections.
	WatchLeader(t Target) (leader func(context.Context) (int, error), close func() error, err error)
}

// Versioner is a driver that asks a running member for its version, such as
// "3.6.16".
type Versioner interface {
	Version(ctx context.Context, t Target, member int) (string, error)
}

// Fronted is a driver for proxies, which report neither their version nor a leader. The database
// behind them reports both.
type Fronted interface {
	// Behind returns the name and driver for the database behind the proxies, and its members in
	// the order of hosts. The hosts have ports for every role.
	Behind(hosts []Host) (name string, driver Driver, t Target)
}

// Limiter is a driver whose options change the largest value: the largest in bytes that
// every member surely accepts under a key of keySize bytes, 0 if no value fits. Without this
// interface [Info.MaxValue] holds for all options.
type Limiter interface {
	MaxValue(keySize int) int
}

// Counter is a driver that asks a cluster for its number of keys.
type Counter interface {
	CountKeys(ctx context.Context, t Target) (int64, error)
}

// KeyFinder is a driver that finds the highest number among the keys in a cluster. A load on a
// cluster that ran before can then number its keys from there on.
type KeyFinder interface {
	// HighestKey returns the largest number whose key, made by [workload.AppendKey] at that size,
	// was written before the call, or -1. Its memory does not grow with the number of keys.
	HighestKey(ctx context.Context, t Target, keySize int) (int64, error)
}

// HintedPutter is optional on a [Client], for databases that have one request for a
// new key and another for an existing one. Both methods have the effect of Put; they try the hinted
// request first, so a right hint costs the servers one transaction.
type HintedPutter interface {
	// PutNew expects that key does not exist.
	PutNew(ctx context.Context, key, value []byte) error
	// PutExisting expects that key exists.
	PutExisting(ctx context.Context, key, value []byte) error
}

// Registry is an ordered set of databases, looked up by name.
type Registry struct{ list []Database }

// NewRegistry returns a registry of the databases in the given order. It panics if a name repeats,
// because the list is written by hand.
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

// FillPorts returns hosts with every absent port set to the default.
func (i Info) FillPorts(hosts []Host) []Host {
	out := make([]Host, len(hosts))
	for n, h := range hosts {
		ports := make(map[string]int, len(i.Ports))
		maps.Copy(ports, i.Ports)
		maps.Copy(ports, h.Ports)
		out[n] = Host{Addr: h.Addr, Ports: ports}
	}
	return out
}
