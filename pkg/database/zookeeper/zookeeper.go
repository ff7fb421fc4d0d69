// Package zookeeper drives Apache ZooKeeper 3.4 to 3.9, and speaks its protocol
// for databases that speak it too.
//
// # Where keys are
//
// A key is the znode "/PARENT/NAME". PARENT is the CRC-32 (IEEE) of the key modulo the option
// key_parents, in decimal, with leading zeros to equal length. NAME is the key with "/", "%" and
// every byte that is not a visible ASCII character written as "%XX". The first connection creates
// the parents, so the load never waits for one. With a prefix the znode is "/PREFIX/PARENT/NAME".
// See [Keyspace].
package zookeeper

import (
	"context"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// Name identifies the database in experiment files and in the registry.
const Name = "zookeeper"

// Tools of a plan.
const (
	toolJars = "zookeeper" // the directory of the server jars, or of an unpacked release
	toolJava = "java"
)

// Operations returns the operations that a [Protocol]'s clients can apply.
func Operations() []workload.Op {
	return database.WithLocks(database.OperationsOf((*client)(nil)))
}

// Promises returns the promises for reads by a [Protocol]'s clients.
func Promises() map[workload.ReadMode]database.Promise {
	return map[workload.ReadMode]database.Promise{
		workload.ReadSyncGet: {Text: "a sync is no request that a quorum agrees on, so a get behind it may be older"},
		workload.ReadStale:   {Text: "a member answers from its own copy, in the order of the writes"},
	}
}

// Options are the ZooKeeper settings.
type Options struct {
	JavaXms              string             `yaml:"java_xms" doc:"heap of the JVM at start, such as 512M or 8G; empty leaves it to the JVM" classic:"java_xms"`
	JavaXmx              string             `yaml:"java_xmx" doc:"largest heap of the JVM, such as 512M or 8G, which must hold all keys and values; empty leaves it to the JVM" classic:"java_xmx"`
	JuteMaxBuffer        int                `yaml:"jute_max_buffer" unit:"bytes" doc:"largest request in bytes: key, value and about 50 bytes (jute.maxbuffer)" classic:"java_d_jute_max_buffer"`
	TickTime             int                `yaml:"tick_time" doc:"length of a tick in milliseconds; init_limit and sync_limit count ticks" classic:"tick_time"`
	InitLimit            int                `yaml:"init_limit" doc:"ticks that a follower may take to connect and catch up" classic:"init_limit"`
	SyncLimit            int                `yaml:"sync_limit" doc:"ticks that a follower may be behind or silent" classic:"sync_limit"`
	SnapCount            int                `yaml:"snap_count" doc:"transactions between two snapshots, approximately" classic:"snap_count"`
	MaxClientConnections int                `yaml:"max_client_connections" doc:"connections that a member accepts from one address; 0 means no limit" classic:"max_client_connections"`
	ListenBacklog        int                `yaml:"listen_backlog" doc:"length of the queue of connections to accept (from 3.5; ZooKeeper's own default of 50 is too short for a thousand at once)"`
	PreAllocSize         int                `yaml:"pre_alloc_size" doc:"KiB by which a log file grows at a time; counts towards the size on disk"`
	ForceSync            bool               `yaml:"force_sync" doc:"sync the log to disk before a write is answered; without it data can be lost; shown with every result"`
	KeyParents           int                `yaml:"key_parents" doc:"znodes that the keys are spread over; 1 is the layout of the classic tool"`
	AdminPort            int                `yaml:"admin_port" doc:"port of the admin server (from 3.5), which takes snapshots from 3.9; 0 starts none, unless maintain.snapshot needs it: then on 8080"`
	Transport            database.Transport `yaml:"transport" doc:"client implementation: lean is dbtester's own client, for less client CPU and memory; standard is go-zookeeper"`
	Flags                []string           `yaml:"flags,omitempty" doc:"more arguments for the JVM, such as -XX:+UseZGC or -Dzookeeper.NAME=VALUE"`
}

// New returns options with every default.
func New() *Options {
	return &Options{
		JavaXms:       "512M",
		JavaXmx:       "2G",
		JuteMaxBuffer: DefaultMaxPacket,
		TickTime:      2000,
		InitLimit:     10,
		SyncLimit:     5,
		SnapCount:     100_000,
		ListenBacklog: 4096,
		PreAllocSize:  64 << 10,
		ForceSync:     true,
		KeyParents:    DefaultParents,
		Transport:     database.Lean,
	}
}

var (
	_ database.Driver     = (*Options)(nil)
	_ database.Validator  = (*Options)(nil)
	_ database.Leader     = (*Options)(nil)
	_ database.Versioner  = (*Options)(nil)
	_ database.Counter    = (*Options)(nil)
	_ database.KeyFinder  = (*Options)(nil)
	_ database.Cleaner    = (*Options)(nil)
	_ database.Claimer    = (*Options)(nil)
	_ database.Limiter    = (*Options)(nil)
	_ database.TxnLimiter = (*Options)(nil)
	_ database.Fsyncer    = (*Options)(nil)
	_ database.ExtraFlags = (*Options)(nil)
	_ database.Installer  = (*Options)(nil)
)

// Texts for [Options.Fsync].
const (
	fsyncEach  = "fdatasync of the log by a quorum before a write is answered"
	fsyncNever = "none: forceSync=no, a write lives in the page cache"
)

// Fsync states when a write is on disk with these options.
func (o *Options) Fsync() string {
	if o.ForceSync {
		return fsyncEach
	}
	return fsyncNever
}

// Durability returns the class of Fsync.
func (o *Options) Durability() declared.Durability {
	if o.ForceSync {
		return declared.EveryWrite
	}
	return declared.NeverSynced
}

// ExtraFlags returns the raw arguments in the options.
func (o *Options) ExtraFlags() []string { return o.Flags }

// protocol configures clients for members with these options.
func (o *Options) protocol() Protocol {
	return Protocol{Keys: Keyspace{Parents: o.KeyParents}, MaxPacket: o.JuteMaxBuffer, Transport: o.Transport}
}

// MaxValue returns the largest value that fits into a request; see
// [Protocol.MaxValue].
func (o *Options) MaxValue(keySize int) int { return o.protocol().MaxValue(keySize) }

// MaxTxnValue returns [Protocol.MaxTxnValue].
func (o *Options) MaxTxnValue(keySize, keys int) int { return o.protocol().MaxTxnValue(keySize, keys) }

// Dial opens one session; see [Protocol.Dial].
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	return o.protocol().Dial(ctx, t)
}

// CountKeys counts every key; see [Protocol.CountKeys].
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	return o.protocol().CountKeys(ctx, t)
}

// HighestKey finds the highest key number; see [Protocol.HighestKey].
func (o *Options) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	return o.protocol().HighestKey(ctx, t, keySize)
}

// Clean removes the keys below the prefix; see [Protocol.Clean].
func (o *Options) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	return o.protocol().Clean(ctx, t, which, removed)
}

// Ready requests one member's role, then opens a session, which needs a quorum, and reads.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	status, err := statusOf(ctx, t, member)
	if err != nil {
		return err
	}
	if !status.serves(len(t.Endpoints)) {
		return fmt.Errorf("zookeeper member must be leader or follower, it is %q", status.mode)
	}
	if err := (admin{o.AdminPort, t, member}).answers(ctx); err != nil {
		return err
	}
	return o.protocol().Serves(ctx, t, member)
}

// Claim implements [database.Claimer].
func (o *Options) Claim(ctx context.Context, t database.Target) (text []byte, version int64, err error) {
	return o.protocol().Claim(ctx, t)
}

// SetClaim implements [database.Claimer].
func (o *Options) SetClaim(ctx context.Context, t database.Target, text []byte, version int64) error {
	return o.protocol().SetClaim(ctx, t, text, version)
}

// RemoveClaim implements [database.Claimer].
func (o *Options) RemoveClaim(ctx context.Context, t database.Target) error {
	return o.protocol().RemoveClaim(ctx, t)
}
