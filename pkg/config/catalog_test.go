package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// etcdOptions, zooOptions and consulOptions stand for driver options.
type etcdOptions struct {
	NotDriven         `yaml:"-"`
	Led               `yaml:"-"`
	Cleaned           `yaml:"-"`
	Holding           `yaml:"-"`
	Watched           `yaml:"-"`
	SnapshotCount     int64         `yaml:"snapshot_count" doc:"entries between two snapshots" classic:"snapshot_count,snap_count"`
	QuotaBackendBytes int64         `yaml:"quota_backend_bytes" doc:"size in bytes at which writes are refused" classic:"quota_size_bytes"`
	HeartbeatInterval time.Duration `yaml:"heartbeat_interval" doc:"time between two heartbeats"`
	UnsafeNoFsync     bool          `yaml:"unsafe_no_fsync" doc:"never sync to disk"`
	Flags             []string      `yaml:"flags,omitempty" doc:"more flags for the server"`
	Transport         string        `yaml:"transport,omitempty" doc:"what carries requests"`
}

// MaxTxnValue allows 8 keys in a transaction, and a million bytes.
func (*etcdOptions) MaxTxnValue(_, keys int) int {
	if keys > 8 {
		return 0
	}
	return 1_000_000 / keys
}

// The store size of an etcd member is known, and upkeep is possible.
func (*etcdOptions) Fill(context.Context, database.Target) (size, limit int64, err error) {
	panic("asked")
}
func (*etcdOptions) Compact(context.Context, database.Target) error                { return nil }
func (*etcdOptions) CompactEvery() time.Duration                                   { return time.Minute }
func (*etcdOptions) Defragment(context.Context, database.Target, int) error        { return nil }
func (*etcdOptions) Snapshot(context.Context, database.Target, int) (int64, error) { return 0, nil }

// NotDriven has the driver methods that a configuration does not call.
type NotDriven struct{}

func (NotDriven) Plan(database.Member) (database.Plan, error)                    { panic("planned") }
func (NotDriven) Ready(context.Context, database.Target, int) error              { panic("asked") }
func (NotDriven) Dial(context.Context, database.Target) (database.Client, error) { panic("dialed") }

// Led is a driver that finds the leader, Cleaned one that removes keys, Holding one that has
// sessions and locks, and Watched one that has watches.
type (
	Led     struct{}
	Cleaned struct{}
	Holding struct{}
	Watched struct{}
)

func (Led) Leader(context.Context, database.Target) (int, error) { panic("asked") }
func (Cleaned) Clean(context.Context, database.Target, database.Removable, func(keys int64)) error {
	panic("asked")
}

func (Holding) DialSessions(context.Context, database.Target) (database.Sessions, error) {
	panic("dialed")
}

func (Holding) DialLocks(context.Context, database.Target, database.LockOptions) (database.Locks, error) {
	panic("dialed")
}

// testLocks returns facts about locks whose sessions end after their TTL. delayed names the time
// for which a lock is delayed, "" if it is not.
func testLocks(delayed string) *database.LockFacts {
	f := &database.LockFacts{
		What: "key", Recipes: []database.LockRecipe{{Name: "library", Fence: "a number"}, {Name: "direct", Fence: "a number"}},
		Session: database.SessionFacts{
			What: "session", Least: 2 * time.Second, Step: time.Second, Rule: "after its TTL",
			Ends: func(ttl time.Duration, _ int) (earliest, latest time.Duration) { return ttl, ttl },
		},
		Renews: func(ttl time.Duration) time.Duration { return ttl / 3 }, Delayed: delayed,
	}
	if delayed != "" {
		f.Delay, f.MostDelay = 15*time.Second, time.Minute
	}
	return f
}

func (Watched) DialWatches(context.Context, database.Target, database.WatchKind, database.Receiver) (database.Watches, error) {
	panic("dialed")
}

// bareOptions are for a driver that has no options.
type bareOptions struct {
	NotDriven `yaml:"-" json:"-"`
}

// watchedOptions are for a driver that has watches.
type watchedOptions struct {
	NotDriven `yaml:"-" json:"-"`
	Watched   `yaml:"-" json:"-"`
}

type zooOptions struct {
	NotDriven     `yaml:"-"`
	Led           `yaml:"-"`
	Holding       `yaml:"-"`
	Watched       `yaml:"-"`
	Heap          heapOptions `yaml:",inline"`
	TickTime      uint32      `yaml:"tick_time" doc:"milliseconds of a tick" classic:"tick_time"`
	InitLimit     int         `yaml:"init_limit" classic:"init_limit"`
	SyncLimit     int         `yaml:"sync_limit" classic:"sync_limit"`
	SnapCount     int64       `yaml:"snap_count" classic:"snap_count"`
	MaxClientConn int         `yaml:"max_client_connections" classic:"max_client_connections"`
	Transport     string      `yaml:"transport,omitempty"`
	Jute          int         `yaml:"java_d_jute_max_buffer" classic:"java_d_jute_max_buffer"`
}

// FitMemory fits the heap into half the memory.
func (o *zooOptions) FitMemory(bytes int64, given func(string) bool) error {
	if bytes < 64<<20 {
		return errors.New("memory is too little")
	}
	if given("java_xmx") && o.Heap.Xmx == "9G" {
		return fmt.Errorf("java_xmx must fit, got %s", o.Heap.Xmx)
	}
	if !given("java_xmx") {
		o.Heap.Xmx = fmt.Sprintf("%dM", bytes>>21)
	}
	return nil
}

// MaxValue returns the room in a request besides its key.
func (o *zooOptions) MaxValue(keySize int) int { return max(0, o.Jute-100-keySize) }

type heapOptions struct {
	Xms string `yaml:"java_xms" doc:"first heap size" classic:"java_xms"`
	Xmx string `yaml:"java_xmx" doc:"largest heap size" classic:"java_xmx"`
}

type consulOptions struct {
	NotDriven      `yaml:"-"`
	Led            `yaml:"-"`
	Cleaned        `yaml:"-"`
	Holding        `yaml:"-"`
	Watched        `yaml:"-"`
	RaftMultiplier int               `yaml:"raft_multiplier"`
	Transport      string            `yaml:"transport,omitempty"`
	Limits         consulLimits      `yaml:"limits"`
	Meta           map[string]string `yaml:"meta,omitempty"`
}

// Registry has a rule that ends registrations after their TTL.
func (*consulOptions) Registry() database.SessionFacts {
	return database.SessionFacts{What: "service", Least: time.Second, Step: time.Millisecond, Ends: func(ttl time.Duration, _ int) (time.Duration, time.Duration) { return ttl, ttl }}
}

func (*consulOptions) DialRegistry(context.Context, database.Target) (database.Sessions, error) {
	panic("dialed")
}

func (*consulOptions) AwaitRegistry(context.Context, database.Target) error { panic("asked") }

type consulLimits struct {
	HTTP int     `yaml:"http_max_conns_per_client"`
	Rate float64 `yaml:"rate"`
}

// ledOptions are for a driver that finds the leader.
type ledOptions struct {
	NotDriven `yaml:"-" json:"-"`
	Led       `yaml:"-" json:"-"`
	Watched   `yaml:"-" json:"-"`
}

// ends is a rule by which a session ends after so many TTLs, and at most some time later.
func ends(ttls int, more time.Duration) func(time.Duration, int) (earliest, latest time.Duration) {
	return func(ttl time.Duration, _ int) (earliest, latest time.Duration) {
		ttl *= time.Duration(ttls)
		return ttl, ttl + more
	}
}

// testCatalog has databases with fewer options than the real ones.
func testCatalog() Catalog {
	common := []workload.Op{"write", "update", "read", "read-oneshot", "delete", "swap", "txn", "create"}
	return Catalog{
		{
			Name: "etcd",
			New: func() database.Driver {
				return &etcdOptions{SnapshotCount: 100_000, QuotaBackendBytes: 8_000_000_000, HeartbeatInterval: 100 * time.Millisecond}
			},
			Info: database.Info{
				Reads:      []workload.ReadMode{"linearizable", "stale"},
				Operations: []workload.Op{"write", "update", "read", "read-oneshot", "delete", "range", "swap", "txn", "create", "grant", "keepalive", "revoke", "lock"},
				Lists:      []workload.RangeMode{workload.RangeKeys, workload.RangeCount, workload.RangePages},
				Sessions:   &database.SessionFacts{Takes: true, Least: 2 * time.Second, Step: time.Second, Ends: ends(1, 501*time.Millisecond)},
				Failover:   "next",
				Ports:      map[string]int{"client": 2379, "peer": 2380},
				SharedConn: true,
				TLS:        true,
				Auth:       true,
				MaxValue:   1_500_000,
				Watches:    []database.WatchFacts{{Kind: database.WatchStream, Values: true, Ranges: true}},
				Embedded:   "3.6.16",
				Locks:      testLocks(""),
			},
		},
		{
			Name: "zookeeper",
			New: func() database.Driver {
				return &zooOptions{Heap: heapOptions{Xms: "512m", Xmx: "512m"}, TickTime: 2000, InitLimit: 5,
					SyncLimit: 5, SnapCount: 100_000, MaxClientConn: 5000, Jute: 1 << 20}
			},
			Info: database.Info{
				Reads:      []workload.ReadMode{"sync+get", "stale"},
				Operations: common,
				Failover:   "next",
				Sessions:   &database.SessionFacts{Takes: true, Least: time.Second, Step: time.Millisecond, NoRequests: "a session is a connection", Ends: ends(1, 3*time.Second)},
				Ports:      map[string]int{"client": 2181, "peer": 2888, "election": 3888},
				MaxValue:   1_000_000,
				Locks:      testLocks(""),
				Watches:    []database.WatchFacts{{Kind: database.WatchPersistent, Ranges: true, NoParts: "znodes are flat", NoResume: "sessions are new"}, {Kind: database.WatchOneShot, Values: true, Coalesces: true, NoResume: "sessions are new"}},
			},
		},
		{
			Name: "consul",
			New: func() database.Driver {
				return &consulOptions{RaftMultiplier: 1, Limits: consulLimits{HTTP: 8000}}
			},
			Info: database.Info{
				Reads:      []workload.ReadMode{"leader", "linearizable", "stale"},
				Operations: append(common[:len(common):len(common)], "grant", "keepalive", "revoke", "lock"),
				Sessions:   &database.SessionFacts{Takes: true, Refused: 15 * time.Second, Least: 10 * time.Second, Most: 24 * time.Hour, Step: time.Millisecond, Ends: ends(2, 0)},
				Failover:   "none",
				Ports:      map[string]int{"client": 8500, "server": 8300},
				TLS:        true,
				Auth:       true,
				MaxValue:   512 << 10,
				Locks:      testLocks("LockDelay"),
				Watches:    []database.WatchFacts{{Kind: database.WatchBlocking, Values: true, Coalesces: true, Ranges: true}},
			},
		},
		{
			Name: "zetcd",
			New:  func() database.Driver { return &watchedOptions{} },
			Info: database.Info{
				Reads:      []workload.ReadMode{"stale"},
				Operations: common,
				Failover:   "next",
				NoSessions: "the proxy renews by itself",
				Ports:      map[string]int{"client": 2181, "etcd": 2379, "peer": 2380},
				MaxValue:   1_000_000,
				NoLocks:    "its proxy has none",
				Watches:    []database.WatchFacts{{Kind: database.WatchOneShot, Values: true, Coalesces: true, NoResume: "sessions are new"}},
			},
		},
		{
			Name: "cetcd",
			New:  func() database.Driver { return &ledOptions{} },
			Info: database.Info{
				Reads:      []workload.ReadMode{"linearizable"},
				Operations: common,
				Failover:   "none",
				Ports:      map[string]int{"client": 8500, "etcd": 2379, "peer": 2380},
				MaxValue:   512 << 10,
				Watches:    []database.WatchFacts{{Kind: database.WatchBlocking, Values: true, Coalesces: true, Ranges: true}},
				Embedded:   "3.6.16",
			},
		},
	}
}
