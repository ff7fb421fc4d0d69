package etcd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Server holds the settings for the etcd server. Fields that set an etcd flag are named after it.
type Server struct {
	SnapshotCount     int64         `yaml:"snapshot_count" doc:"committed entries between two snapshots (etcd's own default: 100000 up to 3.5, 10000 from 3.6)" classic:"snapshot_count,snap_count"`
	QuotaBackendBytes int64         `yaml:"quota_backend_bytes" unit:"bytes" doc:"size in bytes at which the store refuses writes; 0 is etcd's own default of 2 GiB" classic:"quota_size_bytes"`
	HeartbeatInterval time.Duration `yaml:"heartbeat_interval" doc:"time between two heartbeats of the leader, in whole milliseconds"`
	ElectionTimeout   time.Duration `yaml:"election_timeout" doc:"time without a heartbeat after which a member starts an election; at least 5 heartbeats"`
	LogLevel          string        `yaml:"log_level" doc:"lowest level that is logged: debug, info, warn, error"`
	UnsafeNoFsync     bool          `yaml:"unsafe_no_fsync" doc:"never sync to disk: faster, and loses data; shown with every result"`
	Pprof             bool          `yaml:"pprof" doc:"serve Go profiles at the client port (--enable-pprof), which the experiment's profile option needs"`
	Flags             []string      `yaml:"flags,omitempty" doc:"more flags for the server, each as --name=value"`
}

// NewServer returns settings with every default.
func NewServer() *Server {
	return &Server{
		SnapshotCount:     100_000,
		QuotaBackendBytes: 8_000_000_000,
		HeartbeatInterval: 100 * time.Millisecond,
		ElectionTimeout:   time.Second,
		LogLevel:          "info",
	}
}

// Texts for [Server.Fsync].
const (
	fsyncEach  = "fdatasync of the log by a quorum before a write is answered"
	fsyncNever = "none: --unsafe-no-fsync, a write lives in the page cache"
)

// Fsync states when a write is on disk with these settings.
func (s *Server) Fsync() string {
	if s.UnsafeNoFsync || slices.ContainsFunc(s.Flags, func(f string) bool {
		name, value, found := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "unsafe-no-fsync" && (!found || value != "false")
	}) {
		return fsyncNever
	}
	return fsyncEach
}

// Durability returns the class of Fsync.
func (s *Server) Durability() declared.Durability {
	if s.Fsync() == fsyncNever {
		return declared.NeverSynced
	}
	return declared.EveryWrite
}

// ExtraFlags returns the raw flags in the options.
func (s *Server) ExtraFlags() []string { return s.Flags }

// maxQuota is the largest store in bytes that upstream supports. etcd only warns
// above it.
const maxQuota = 8 << 30

// Validate reports every setting etcd would refuse or that would make a result meaningless.
func (s *Server) Validate(database.HostFacts) error {
	var errs []error
	problem := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	problem(s.SnapshotCount < 1, "snapshot_count must be at least 1, got %d", s.SnapshotCount)
	problem(s.QuotaBackendBytes < 0, "quota_backend_bytes must be at least 0, got %d", s.QuotaBackendBytes)
	problem(s.QuotaBackendBytes > maxQuota,
		"quota_backend_bytes must be at most %d (8 GiB), the most that etcd supports, got %d", int64(maxQuota), s.QuotaBackendBytes)
	problem(s.HeartbeatInterval < time.Millisecond || s.HeartbeatInterval%time.Millisecond != 0,
		"heartbeat_interval must be a positive whole number of milliseconds, got %v", s.HeartbeatInterval)
	problem(s.ElectionTimeout%time.Millisecond != 0,
		"election_timeout must be a whole number of milliseconds, got %v", s.ElectionTimeout)
	problem(s.ElectionTimeout < 5*s.HeartbeatInterval,
		"election_timeout must be at least 5 x heartbeat_interval (%v), got %v", s.HeartbeatInterval, s.ElectionTimeout)
	problem(s.ElectionTimeout > 50*time.Second, "election_timeout must be at most 50s, got %v", s.ElectionTimeout)
	problem(!slices.Contains([]string{"debug", "info", "warn", "error"}, s.LogLevel),
		"log_level must be debug, info, warn or error, got %q", s.LogLevel)
	for _, f := range s.Flags {
		errs = append(errs, database.ValidFlag(f, "--", plannedFlags))
	}
	return errors.Join(errs...)
}

// plannedFlags are the flags that Plan writes. Server.Flags must not have them.
var plannedFlags = []string{
	"name", "data-dir", "listen-client-urls", "advertise-client-urls", "listen-peer-urls",
	"initial-advertise-peer-urls", "initial-cluster", "initial-cluster-token", "initial-cluster-state",
	"snapshot-count", "quota-backend-bytes", "heartbeat-interval", "election-timeout",
	"logger", "log-outputs", "log-level", "enable-pprof",
	"cert-file", "key-file", "trusted-ca-file", "client-cert-auth",
	"peer-cert-file", "peer-key-file", "peer-trusted-ca-file", "peer-client-cert-auth",
	"config-file", "wal-dir", "listen-metrics-urls", "listen-client-http-urls", "auto-tls", "peer-auto-tls",
	"force-new-cluster", "discovery", "discovery-srv", "discovery-endpoints",
}
