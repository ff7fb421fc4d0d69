package etcd

import (
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
)

var _ database.Upstream = (*Server)(nil)

// The etcd defaults (server/embed/config.go and server/etcdserver in the releases). The default of
// --snapshot-count changed with 3.6, and that of the logger with 3.5.
const (
	upstreamHeartbeat = 100 * time.Millisecond
	upstreamElection  = time.Second
)

func upstreamSnapshotCount(version string) int64 {
	if database.Since(version, "3.6.0") {
		return 10_000
	}
	return 100_000
}

// SetUpstream sets the values that etcd has without flags.
func (s *Server) SetUpstream(version string) {
	s.SnapshotCount = upstreamSnapshotCount(version)
	s.QuotaBackendBytes = 0 // selects the etcd default
	s.HeartbeatInterval, s.ElectionTimeout, s.LogLevel = upstreamHeartbeat, upstreamElection, "info"
}

// Changed returns flags by their names, times in milliseconds and sizes in bytes.
func (s *Server) Changed(version string) []declared.Setting {
	whole := func(name string, is, preset int64) declared.Setting {
		return declared.Setting{Name: name, Value: strconv.FormatInt(is, 10), Default: strconv.FormatInt(preset, 10)}
	}
	truth := func(name string, is bool) declared.Setting {
		return declared.Setting{Name: name, Value: strconv.FormatBool(is), Default: "false"}
	}
	logger := "capnslog"
	if database.Since(version, "3.5.0") {
		logger = "zap"
	}
	quota := s.QuotaBackendBytes
	if quota == 0 {
		quota = defaultQuota
	}
	list := database.Differing(
		whole("--snapshot-count", s.SnapshotCount, upstreamSnapshotCount(version)),
		whole("--quota-backend-bytes", quota, defaultQuota),
		whole("--heartbeat-interval", s.HeartbeatInterval.Milliseconds(), upstreamHeartbeat.Milliseconds()),
		whole("--election-timeout", s.ElectionTimeout.Milliseconds(), upstreamElection.Milliseconds()),
		declared.Setting{Name: "--logger", Value: "zap", Default: logger},
		declared.Setting{Name: "--log-level", Value: s.LogLevel, Default: "info"},
		truth("--unsafe-no-fsync", s.UnsafeNoFsync),
		truth("--enable-pprof", s.Pprof),
	)
	for _, f := range s.Flags {
		name, value, _ := strings.Cut(f, "=")
		list = append(list, declared.Setting{Name: name, Value: value})
	}
	return list
}
