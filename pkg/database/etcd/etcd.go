// Package etcd drives etcd: the one built into this binary, or an etcd
// executable from 3.4 to 3.7.
package etcd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/coreos/dbtester/pkg/database"
)

// Name is the database's name in experiment files and in the registry.
const Name = "etcd"

// Database returns etcd as a registry lists it. Without the tool "etcd" a plan
// runs the server built into this binary.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			Reads: []database.ReadMode{database.ReadLinearizable, database.ReadStale},
			Operations: []database.Op{
				database.OpWrite, database.OpUpdate, database.OpRead, database.OpReadOneshot,
				database.OpDelete, database.OpRange, database.OpSwap,
			},
			Ports:      map[string]int{"client": 2379, "peer": 2380},
			Tools:      []string{Name},
			Embedded:   version.Version,
			SharedConn: true,
			TLS:        true,
			Auth:       true,
			MaxValue:   maxValue(defaultRequestBytes, limitKeySize),
			Fsync:      fsyncEach,
		},
		New: func() database.Driver { return NewDriver() },
	}
}

// The two things that can be said of when a write is on disk.
const (
	fsyncEach  = "fdatasync of the log by a quorum before a write is answered"
	fsyncNever = "none: --unsafe-no-fsync, a write lives in the page cache"
)

// Driver is etcd as a registry lists it: the server's settings and the client's.
type Driver struct {
	Options   `yaml:",inline"`
	Transport Transport `yaml:"transport" doc:"what carries the client's requests: lean is a small gRPC client made for this, for less client CPU; grpc is grpc-go, as in etcd's own client"`
}

// NewDriver returns a driver that holds every default.
func NewDriver() *Driver { return &Driver{Options: *New(), Transport: Lean} }

var (
	_ database.Driver     = (*Driver)(nil)
	_ database.Validator  = (*Driver)(nil)
	_ database.Embedded   = (*Driver)(nil)
	_ database.Installer  = (*Driver)(nil)
	_ database.Leader     = (*Driver)(nil)
	_ database.Versioner  = (*Driver)(nil)
	_ database.Counter    = (*Driver)(nil)
	_ database.Limiter    = (*Driver)(nil)
	_ database.Fsyncer    = (*Driver)(nil)
	_ database.ExtraFlags = (*Driver)(nil)
)

// Validate reports every option that etcd or the client would refuse.
func (d *Driver) Validate(h database.HostFacts) error {
	return errors.Join(d.Options.Validate(h), d.Transport.Validate())
}

// Options are the server's settings. Its flags keep their names where they are named
// after one.
type Options struct {
	SnapshotCount     int64         `yaml:"snapshot_count" doc:"committed entries between two snapshots (etcd's own default: 100000 up to 3.5, 10000 from 3.6)" classic:"snapshot_count,snap_count"`
	QuotaBackendBytes int64         `yaml:"quota_backend_bytes" doc:"size in bytes at which the store refuses writes; 0 is etcd's own default of 2 GiB" classic:"quota_size_bytes"`
	HeartbeatInterval time.Duration `yaml:"heartbeat_interval" doc:"time between two heartbeats of the leader, in whole milliseconds"`
	ElectionTimeout   time.Duration `yaml:"election_timeout" doc:"time without a heartbeat after which a member stands for election; at least 5 heartbeats"`
	LogLevel          string        `yaml:"log_level" doc:"least level that is logged: debug, info, warn, error"`
	UnsafeNoFsync     bool          `yaml:"unsafe_no_fsync" doc:"never sync to disk: faster, and loses data; shown wherever the result is"`
	Pprof             bool          `yaml:"pprof" doc:"serve Go profiles at the client port (--enable-pprof): the experiment's profile needs it"`
	Flags             []string      `yaml:"flags,omitempty" doc:"more flags for the server, each as --name=value"`
}

// New returns options that hold every default.
func New() *Options {
	return &Options{
		SnapshotCount:     100_000,
		QuotaBackendBytes: 8_000_000_000,
		HeartbeatInterval: 100 * time.Millisecond,
		ElectionTimeout:   time.Second,
		LogLevel:          "info",
	}
}

// Fsync states when a write is on disk with these options.
func (o *Options) Fsync() string {
	if o.UnsafeNoFsync || slices.ContainsFunc(o.Flags, func(f string) bool {
		name, value, found := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "unsafe-no-fsync" && (!found || value != "false")
	}) {
		return fsyncNever
	}
	return fsyncEach
}

// ExtraFlags returns the raw flags of the options.
func (o *Options) ExtraFlags() []string { return o.Flags }

// maxQuota is the largest store that upstream supports; it only warns above,
// but results from there would be nobody's to defend.
const maxQuota = 8 << 30

// Validate reports every option that etcd would refuse or that would make a
// result meaningless.
func (o *Options) Validate(database.HostFacts) error {
	var errs []error
	problem := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	problem(o.SnapshotCount < 1, "snapshot_count %d is not positive", o.SnapshotCount)
	problem(o.QuotaBackendBytes < 0, "quota_backend_bytes %d is negative", o.QuotaBackendBytes)
	problem(o.QuotaBackendBytes > maxQuota,
		"quota_backend_bytes %d is more than %d (8 GiB), the most that etcd supports", o.QuotaBackendBytes, int64(maxQuota))
	problem(o.HeartbeatInterval < time.Millisecond || o.HeartbeatInterval%time.Millisecond != 0,
		"heartbeat_interval %v is not a whole number of milliseconds", o.HeartbeatInterval)
	problem(o.ElectionTimeout%time.Millisecond != 0,
		"election_timeout %v is not a whole number of milliseconds", o.ElectionTimeout)
	problem(o.ElectionTimeout < 5*o.HeartbeatInterval,
		"election_timeout %v is less than 5 x heartbeat_interval %v", o.ElectionTimeout, o.HeartbeatInterval)
	problem(o.ElectionTimeout > 50*time.Second, "election_timeout %v is more than 50s", o.ElectionTimeout)
	problem(!slices.Contains([]string{"debug", "info", "warn", "error"}, o.LogLevel),
		"log_level %q is not debug, info, warn or error", o.LogLevel)
	for _, f := range o.Flags {
		errs = append(errs, database.ValidFlag(f, "--", plannedFlags))
	}
	return errors.Join(errs...)
}
