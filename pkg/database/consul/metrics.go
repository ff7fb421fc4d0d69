package consul

import (
	neturl "net/url"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
)

// telemetry makes a member keep metrics for Prometheus. A metric that does not change for
// the retention time is dropped, and would start at 0 again. Names without the host name
// are the same on all members.
func telemetry() map[string]any {
	return map[string]any{"prometheus_retention_time": "24h", "disable_hostname": true}
}

// metrics returns the metrics that a planned member serves on its client port. Consul's
// additional numbers for the last ten seconds are not used. Planned members have no ACLs.
func metrics(m database.Member) *database.MetricsSource {
	u := neturl.URL{Scheme: "http", Host: address(m.Self(), "client"), Path: "/v1/agent/metrics", RawQuery: "format=prometheus"}
	if m.TLS != nil {
		u.Scheme = "https"
	}
	const millis = .001
	return &database.MetricsSource{
		URL: u.String(),
		Metrics: []database.ReportedMetric{
			{Name: metric.Fsyncs, Raw: "consul_raft_boltdb_storeLogs_count"},
			{Name: metric.FsyncSeconds, Raw: "consul_raft_boltdb_storeLogs_sum", Unit: millis},
			{Name: metric.Snapshots, Raw: "consul_raft_snapshot_persist_count"},
			{Name: metric.SnapshotSeconds, Raw: "consul_raft_snapshot_persist_sum", Unit: millis},
			{Name: metric.IsLeader, Raw: "consul_server_isLeader"},
			{Name: metric.ProposalsApplied, Raw: "consul_raft_applied_index"},
			{Name: metric.PauseSeconds, Raw: "go_gc_duration_seconds_sum"},
			{Name: metric.HeapBytes, Raw: "go_memstats_heap_alloc_bytes"},
			{Name: metric.Agreements, Raw: "consul_raft_commitTime_count"},
			{Name: metric.AgreementSeconds, Raw: "consul_raft_commitTime_sum", Unit: millis},
			{Name: metric.Applies, Raw: "consul_raft_fsm_apply_count"},
			{Name: metric.ApplySeconds, Raw: "consul_raft_fsm_apply_sum", Unit: millis},
			{Name: metric.Writes, Raw: "consul_kvs_apply_count"},
			{Name: metric.WriteSeconds, Raw: "consul_kvs_apply_sum", Unit: millis},
		},
	}
}
