package etcd

import (
	"testing"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/embed"
)

// TestUpstreamOfTheBuiltIn compares with the defaults the built-in server states itself.
func TestUpstreamOfTheBuiltIn(t *testing.T) {
	t.Parallel()
	s, own := NewServer(), embed.NewConfig()
	s.SetUpstream(version.Version)
	if s.SnapshotCount != int64(own.SnapshotCount) || s.QuotaBackendBytes != own.QuotaBackendBytes ||
		s.HeartbeatInterval.Milliseconds() != int64(own.TickMs) || s.ElectionTimeout.Milliseconds() != int64(own.ElectionMs) ||
		s.LogLevel != own.LogLevel || own.Logger != "zap" {
		t.Errorf("the upstream defaults are %+v, and the server has snapshot count %d, quota %d, heartbeat %d ms, election %d ms, %s by %s",
			s, own.SnapshotCount, own.QuotaBackendBytes, own.TickMs, own.ElectionMs, own.LogLevel, own.Logger)
	}
}
