// Package zookeeper drives Apache ZooKeeper 3.4 to 3.9, and speaks its protocol
// for databases that speak it too.
//
// # Where keys are
//
// A key is the znode "/PARENT/NAME". PARENT is the CRC-32 (IEEE) of the key
// modulo the option key_parents, in decimal, with zeros in front so that all
// have one length; NAME is the key with every byte that is not a visible ASCII
// character, and "/" and "%", written as "%XX". The parents are made when the
// first connection is opened, so the load never waits for one. See [Keyspace].
package zookeeper

import (
	"context"
	"errors"

	"github.com/coreos/dbtester/pkg/database"
)

// Name is the database's name in experiment files and in the registry.
const Name = "zookeeper"

// Names of the tools that a plan needs.
const (
	toolJars = "zookeeper" // the directory of the server's jars, or of an unpacked release
	toolJava = "java"
)

// Database returns ZooKeeper as a registry lists it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			Reads:      []database.ReadMode{database.ReadSyncGet, database.ReadStale},
			Operations: Operations(),
			Ports:      map[string]int{"client": 2181, "peer": 2888, "election": 3888},
			Tools:      []string{toolJars, toolJava},
			TLS:        true,
			Auth:       true,
			MaxValue:   New().protocol().MaxValue(limitKeySize),
			Fsync:      fsyncEach,
		},
		New: func() database.Driver { return New() },
	}
}

// Operations are what a [Protocol]'s clients can do.
func Operations() []database.Op {
	return []database.Op{
		database.OpWrite, database.OpUpdate, database.OpRead, database.OpReadOneshot,
		database.OpDelete, database.OpSwap,
	}
}

// Options are ZooKeeper's settings.
type Options struct {
	JavaXms              string    `yaml:"java_xms" doc:"heap of the JVM at start, such as 512M or 8G; empty leaves it to the JVM" classic:"java_xms"`
	JavaXmx              string    `yaml:"java_xmx" doc:"largest heap of the JVM, such as 512M or 8G; all keys and values must fit; empty leaves it to the JVM" classic:"java_xmx"`
	JuteMaxBuffer        int       `yaml:"jute_max_buffer" doc:"largest request in bytes, key, value and some 50 bytes more (jute.maxbuffer)" classic:"java_d_jute_max_buffer"`
	TickTime             int       `yaml:"tick_time" doc:"milliseconds of a tick, the unit of the two limits" classic:"tick_time"`
	InitLimit            int       `yaml:"init_limit" doc:"ticks that a follower may take to connect and catch up" classic:"init_limit"`
	SyncLimit            int       `yaml:"sync_limit" doc:"ticks that a follower may be out of touch" classic:"sync_limit"`
	SnapCount            int       `yaml:"snap_count" doc:"about how many transactions are between two snapshots" classic:"snap_count"`
	MaxClientConnections int       `yaml:"max_client_connections" doc:"connections that one address may have; 0 is no limit" classic:"max_client_connections"`
	ListenBacklog        int       `yaml:"listen_backlog" doc:"connections that may wait to be accepted (from 3.5; ZooKeeper's own default of 50 refuses some of a thousand)"`
	PreAllocSize         int       `yaml:"pre_alloc_size" doc:"KiB by which a log file grows at once; it is part of the size on disk"`
	ForceSync            bool      `yaml:"force_sync" doc:"sync the log to disk before a write is answered; without it data can be lost; shown wherever the result is"`
	KeyParents           int       `yaml:"key_parents" doc:"znodes among which the keys are spread; 1 puts all under one, as the classic tool did"`
	Transport            Transport `yaml:"transport" doc:"what carries the client's requests: lean is one connection with packets of the driver's own making, for less client CPU and memory; standard is go-zookeeper's client"`
	Flags                []string  `yaml:"flags,omitempty" doc:"more arguments for the JVM, such as -XX:+UseZGC or -Dzookeeper.NAME=VALUE"`
}

// New returns options that hold every default.
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
		Transport:     Lean,
	}
}

var (
	_ database.Driver     = (*Options)(nil)
	_ database.Validator  = (*Options)(nil)
	_ database.Leader     = (*Options)(nil)
	_ database.Versioner  = (*Options)(nil)
	_ database.Counter    = (*Options)(nil)
	_ database.Limiter    = (*Options)(nil)
	_ database.Fsyncer    = (*Options)(nil)
	_ database.ExtraFlags = (*Options)(nil)
	_ database.Installer  = (*Options)(nil)
)

// The two things that can be said of when a write is on disk.
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

// ExtraFlags returns the raw arguments of the options.
func (o *Options) ExtraFlags() []string { return o.Flags }

// protocol is how clients speak to members with these options.
func (o *Options) protocol() Protocol {
	return Protocol{Keys: Keyspace{Parents: o.KeyParents}, MaxPacket: o.JuteMaxBuffer, Transport: o.Transport}
}

// MaxValue returns the largest value that fits into a request; see
// [Protocol.MaxValue].
func (o *Options) MaxValue(keySize int) int { return o.protocol().MaxValue(keySize) }

// Dial opens one session; see [Protocol.Dial].
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	return o.protocol().Dial(ctx, t)
}

// CountKeys counts every key; see [Protocol.CountKeys].
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	return o.protocol().CountKeys(ctx, t)
}

// Ready asks one member for its part in the quorum, and then opens a session,
// which takes a quorum, and reads in it.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	status, err := statusOf(ctx, t, member)
	if err != nil {
		return err
	}
	if !status.serves(len(t.Endpoints)) {
		return errors.New("zookeeper member is " + status.mode + ", neither leader nor follower")
	}
	return o.protocol().Serves(ctx, t, member)
}
