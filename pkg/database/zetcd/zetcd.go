// Package zetcd drives zetcd, a proxy that speaks the ZooKeeper protocol in front of etcd: every
// member is one etcd and one proxy to it, and clients are ZooKeeper clients.
//
// Keys are laid out as by the ZooKeeper driver: under one of key_parents znodes (see
// [zookeeper.Keyspace]). A create changes its parent in an optimistic transaction, so concurrent
// creates under one parent, the classic tool's layout, conflict and are retried by the proxy.
// Creates of 1 KiB, per second, that were answered within 5 s, on two busy cores without fsync:
//
//	clients         1     10    100   1000
//	1 parent      507    213     38      1
//	100 parents   392    540    625    201
//	1000 parents  353    452    675    476
//
// Results with different key_parents do not compare.
//
// A proxy does not forward errors from etcd: it closes the connection. So a write etcd refused, for
// example because its space is exceeded, has the class connection lost and is unknown. The reason
// is in the etcd log, and among the events of the run.
//
// A proxy also accepts transactions of several keys, but it answers a conflict like any other
// failure, so loads only have transactions of one key.
//
// A proxy reports neither its version nor the leader: the etcd behind it does. If that etcd
// dies, the proxy hangs and requests time out.
package zetcd

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
	"github.com/coreos/dbtester/pkg/install/recipe"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Name identifies the database in experiment files and in the registry.
const Name = "zetcd"

// The roles for the etcd ports; "client" is the proxy port.
const (
	roleEtcdClient = "etcd_client"
	roleEtcdPeer   = "etcd_peer"
)

// limitKeySize is the key size in bytes that Info.MaxValue assumes: the default for experiments.
const limitKeySize = 256

// Options are the settings for the etcd, the key layout and the client. The proxy has no settings
// that matter to a load.
type Options struct {
	KeyParents int                `yaml:"key_parents" doc:"znodes that the keys are spread over; concurrent creates under one parent conflict"`
	Transport  database.Transport `yaml:"transport" doc:"client implementation: lean or standard, as for zookeeper"`
	// Not embedded: a proxy is not the built-in etcd server.
	Etcd etcd.Server `yaml:",inline" doc:"options of the etcd behind the proxy"`
}

// New returns options with every default.
func New() *Options {
	return &Options{KeyParents: zookeeper.DefaultParents, Transport: database.Lean, Etcd: *etcd.NewServer()}
}

var (
	_ database.Driver     = (*Options)(nil)
	_ database.Validator  = (*Options)(nil)
	_ database.Counter    = (*Options)(nil)
	_ database.KeyFinder  = (*Options)(nil)
	_ database.Cleaner    = (*Options)(nil)
	_ database.Limiter    = (*Options)(nil)
	_ database.Fsyncer    = (*Options)(nil)
	_ database.ExtraFlags = (*Options)(nil)
	_ database.Installer  = (*Options)(nil)
	_ database.Mirror     = (*Options)(nil)
	_ database.Fronted    = (*Options)(nil)
)

// ServeMirror implements [database.Mirror] with the mirror for ZooKeeper.
func (o *Options) ServeMirror(ctx context.Context, l net.Listener, hold func()) error {
	return zookeeper.ServeMirror(ctx, l, hold)
}

// Fsync states when a write is on disk with these options.
func (o *Options) Fsync() string { return o.Etcd.Fsync() }

// Durability returns the class of Fsync.
func (o *Options) Durability() declared.Durability { return o.Etcd.Durability() }

// ExtraFlags returns the raw flags for the etcd.
func (o *Options) ExtraFlags() []string { return o.Etcd.ExtraFlags() }

// Validate reports every option etcd or the client would refuse.
func (o *Options) Validate(h database.HostFacts) error {
	return errors.Join(zookeeper.ValidParents(o.KeyParents), o.Transport.Validate(), o.Etcd.Validate(h))
}

// protocol configures clients for the proxies. etcd would accept requests of 1.5 MiB, but the limit
// is ZooKeeper's, so that the same loads run on both.
func (o *Options) protocol() zookeeper.Protocol {
	return zookeeper.Protocol{
		Keys: zookeeper.Keyspace{Parents: o.KeyParents}, MaxPacket: zookeeper.DefaultMaxPacket, Transport: o.Transport,
		EventsBeforeReads: true,
	}
}

// MaxValue returns the largest value that fits into a request in the ZooKeeper protocol, and into
// an etcd request if an option made that limit smaller.
func (o *Options) MaxValue(keySize int) int {
	return min(o.protocol().MaxValue(keySize), o.Etcd.MaxValue(keySize))
}

// Dial opens one session through a proxy; see [zookeeper.Protocol.Dial].
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	client, err := o.protocol().Dial(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("zetcd: %w", err)
	}
	return client, nil
}

// Ready opens a session through a member's proxy, which needs a quorum in etcd, and reads.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	if err := o.protocol().Serves(ctx, t, member); err != nil {
		return fmt.Errorf("zetcd: %w", err)
	}
	return nil
}

// CountKeys counts every key through a proxy; see [zookeeper.Protocol.CountKeys].
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	n, err := o.protocol().CountKeys(ctx, t)
	if err != nil {
		return 0, fmt.Errorf("zetcd: %w", err)
	}
	return n, nil
}

// HighestKey finds the highest key number through a proxy; see [zookeeper.Protocol.HighestKey].
func (o *Options) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	n, err := o.protocol().HighestKey(ctx, t, keySize)
	if err != nil {
		return 0, fmt.Errorf("zetcd: %w", err)
	}
	return n, nil
}

// Clean removes the keys below the prefix through a proxy; see
// [zookeeper.Protocol.Clean].
func (o *Options) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	if err := o.protocol().Clean(ctx, t, which, removed); err != nil {
		return fmt.Errorf("zetcd: %w", err)
	}
	return nil
}

// Plan returns the etcd plan and the proxy, which starts once etcd listens. The only endpoint of
// the proxy is its member: with more, it would read from members that are behind.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	switch {
	case m.Index < 0 || m.Index >= len(m.Hosts):
		return database.Plan{}, fmt.Errorf("plan zetcd: the member must be from 0 to %d, got %d", len(m.Hosts)-1, m.Index)
	case m.TLS != nil:
		return database.Plan{}, errors.New("plan zetcd: TLS is not supported by its clients")
	case m.Tools[Name] == "":
		return database.Plan{}, errors.New("plan zetcd: no zetcd executable, and none is built in")
	}
	plan, err := o.Etcd.Plan(below(m)) // metrics come from etcd, not from the proxy
	if err != nil {
		return database.Plan{}, fmt.Errorf("plan zetcd: %w", err)
	}
	self := m.Self()
	listen, endpoint := address(self, "client"), address(self, roleEtcdClient)
	last := &plan.Commands[len(plan.Commands)-1]
	last.WaitListen = append(slices.Clone(last.WaitListen), endpoint)
	plan.Commands = append(plan.Commands, database.Command{
		Name: Name, Path: m.Tools[Name],
		Args: []string{"-zkaddr", listen, "-endpoints", endpoint, "-logtostderr"},
		// The proxy exits without a message if it cannot listen. The wait makes that an error.
		WaitListen: []string{listen},
		Env:        []string{"TZ=UTC"}, // log lines name no zone
	})
	plan.Listen = append([]string{listen}, plan.Listen...)
	plan.LogRules = append(plan.LogRules, declared.LogRule{Event: "proxy panicked", Pattern: `^panic: `, Help: "the proxy died"})
	plan.LogTimes = append(plan.LogTimes, declared.LogTime{Pattern: `^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d{6}) `, Layout: "0102 15:04:05.000000"})
	return plan, nil
}

// Behind implements [database.Fronted] with the etcd of each member.
func (o *Options) Behind(hosts []database.Host) (name string, driver database.Driver, t database.Target) {
	t.Prefer = -1
	for _, h := range hosts {
		t.Endpoints = append(t.Endpoints, address(h, roleEtcdClient))
	}
	return etcd.Name, etcd.New(), t
}

// below returns the etcd member behind a proxy.
func below(m database.Member) database.Member {
	hosts := make([]database.Host, len(m.Hosts))
	for i, h := range m.Hosts {
		hosts[i] = database.Host{Addr: h.Addr, Ports: map[string]int{"client": h.Ports[roleEtcdClient], "peer": h.Ports[roleEtcdPeer]}}
	}
	m.Hosts = hosts
	return m
}

func address(h database.Host, role string) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports[role]))
}

// version has the only recipe.
const version = "0.0.5"

var (
	//go:embed release/go.mod.txt
	goMod string
	//go:embed release/go.sum.txt
	goSum string
)

// Recipes returns the build from source.
func (o *Options) Recipes(asked string) ([]recipe.Recipe, error) {
	if strings.TrimPrefix(asked, "v") != version {
		return nil, fmt.Errorf("the version of zetcd must be %s, the only one with a recipe, got %q", version, asked)
	}
	return []recipe.Recipe{recipe.GoBuild{
		About:    recipe.About{Source: "https://pkg.go.dev/github.com/coreos/zetcd@v" + version},
		GoMod:    goMod,
		GoSum:    goSum,
		Packages: map[string]string{Name: "github.com/coreos/zetcd/cmd/zetcd"},
		Module:   "github.com/coreos/zetcd",
	}}, nil
}
