package config

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// etcdOptions, zooOptions and consulOptions stand for drivers' options.
type etcdOptions struct {
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

// The upkeep of etcd is possible.
func (*etcdOptions) Compact(context.Context, database.Target) error                { return nil }
func (*etcdOptions) CompactEvery() time.Duration                                   { return time.Minute }
func (*etcdOptions) Defragment(context.Context, database.Target, int) error        { return nil }
func (*etcdOptions) Snapshot(context.Context, database.Target, int) (int64, error) { return 0, nil }

type zooOptions struct {
	Heap          heapOptions `yaml:",inline"`
	TickTime      uint32      `yaml:"tick_time" doc:"milliseconds of a tick" classic:"tick_time"`
	InitLimit     int         `yaml:"init_limit" classic:"init_limit"`
	SyncLimit     int         `yaml:"sync_limit" classic:"sync_limit"`
	SnapCount     int64       `yaml:"snap_count" classic:"snap_count"`
	MaxClientConn int         `yaml:"max_client_connections" classic:"max_client_connections"`
	Jute          int         `yaml:"java_d_jute_max_buffer" classic:"java_d_jute_max_buffer"`
}

// MaxValue is what a request holds beside its key.
func (o *zooOptions) MaxValue(keySize int) int { return max(0, o.Jute-100-keySize) }

type heapOptions struct {
	Xms string `yaml:"java_xms" doc:"first heap size" classic:"java_xms"`
	Xmx string `yaml:"java_xmx" doc:"largest heap size" classic:"java_xmx"`
}

type consulOptions struct {
	RaftMultiplier int               `yaml:"raft_multiplier"`
	Limits         consulLimits      `yaml:"limits"`
	Meta           map[string]string `yaml:"meta,omitempty"`
}

type consulLimits struct {
	HTTP int     `yaml:"http_max_conns_per_client"`
	Rate float64 `yaml:"rate"`
}

func testCatalog() Catalog {
	return Catalog{
		{
			Name: "etcd",
			Options: func() any {
				return &etcdOptions{SnapshotCount: 100_000, QuotaBackendBytes: 8_000_000_000, HeartbeatInterval: 100 * time.Millisecond}
			},
			Reads:      []workload.ReadMode{"linearizable", "stale"},
			Operations: []workload.Op{"write", "update", "read", "read-oneshot", "delete", "range", "swap", "txn", "create"},
			Failover:   "next",
			Ports:      map[string]int{"client": 2379, "peer": 2380},
			SharedConn: true,
			TLS:        true,
			Auth:       true,
			MaxValue:   1_500_000,
			Leader:     true,
			Prefix:     true,
			Sizes:      true,
			Embedded:   true,
		},
		{
			Name: "zookeeper",
			Options: func() any {
				return &zooOptions{Heap: heapOptions{Xms: "512m", Xmx: "512m"}, TickTime: 2000, InitLimit: 5,
					SyncLimit: 5, SnapCount: 100_000, MaxClientConn: 5000, Jute: 1 << 20}
			},
			Reads:      []workload.ReadMode{"sync+get", "stale"},
			Operations: []workload.Op{"write", "update", "read", "read-oneshot", "delete", "swap", "txn", "create"},
			Failover:   "next",
			Ports:      map[string]int{"client": 2181, "peer": 2888, "election": 3888},
			MaxValue:   1_000_000,
			Leader:     true,
		},
		{
			Name:       "consul",
			Prefix:     true,
			Options:    func() any { return &consulOptions{RaftMultiplier: 1, Limits: consulLimits{HTTP: 8000}} },
			Reads:      []workload.ReadMode{"leader", "linearizable", "stale"},
			Operations: []workload.Op{"write", "update", "read", "read-oneshot", "delete", "swap", "txn", "create"},
			Failover:   "none",
			Ports:      map[string]int{"client": 8500, "server": 8300},
			TLS:        true,
			Auth:       true,
			MaxValue:   512 << 10,
			Leader:     true,
		},
		{
			Name:       "zetcd",
			Reads:      []workload.ReadMode{"stale"},
			Operations: []workload.Op{"write", "update", "read", "read-oneshot", "delete", "swap", "txn", "create"},
			Failover:   "next",
			Ports:      map[string]int{"client": 2181, "etcd": 2379, "peer": 2380},
			MaxValue:   1_000_000,
		},
		{
			Name:       "cetcd",
			Reads:      []workload.ReadMode{"linearizable"},
			Operations: []workload.Op{"write", "update", "read", "read-oneshot", "delete", "swap", "txn", "create"},
			Failover:   "none",
			Ports:      map[string]int{"client": 8500, "etcd": 2379, "peer": 2380},
			MaxValue:   512 << 10,
			Embedded:   true,
			Leader:     true,
		},
	}
}
