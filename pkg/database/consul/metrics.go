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

var _ database.MetricsReporter = (*Options)(nil)

// metrics returns the metrics of a planned member, which has no ACLs.
func metrics(m database.Member) *database.MetricsSource {
	s := reports(address(m.Self(), "client"), m.TLS != nil)
	return &s
}

// Reports returns a member's metrics at its client address. Its configuration must have a positive
// telemetry.prometheus_retention_time, and the token agent:read.
func (o *Options) Reports(t database.Target, member int) database.MetricsSource {
	s := reports(t.Endpoints[member], t.TLS != nil)
	if t.Auth != nil && t.Auth.Password != "" {
		s.Header = map[string]string{"X-Consul-Token": t.Auth.Password}
	}
	return s
}

// reports returns the metrics a member serves on its client port. The additional numbers for the
// last ten seconds are not used.
func reports(endpoint string, secure bool) database.MetricsSource {
	u := neturl.URL{Scheme: "http", Host: endpoint, Path: "/v1/agent/metrics", RawQuery: "format=prometheus"}
	if secure {
		u.Scheme = "https"
	}
	const millis = .001
	return database.MetricsSource{
		URL: u.String(),
		Metrics: []database.ReportedMetric{
			// Appends to the log as the leader and as a follower. Release 1.21 does not report the
			// number of the log store, consul_raft_boltdb_storeLogs.
			{Name: metric.Fsyncs, Raw: "consul_raft_leader_dispatchLog_count", Added: true},
			{Name: metric.Fsyncs, Raw: "consul_raft_rpc_appendEntries_storeLogs_count", Added: true},
			{Name: metric.FsyncSeconds, Raw: "consul_raft_leader_dispatchLog_sum", Unit: millis, Added: true},
			{Name: metric.FsyncSeconds, Raw: "consul_raft_rpc_appendEntries_storeLogs_sum", Unit: millis, Added: true},
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
			// Transactions are counted apart.
			{Name: metric.Writes, Raw: "consul_kvs_apply_count", Added: true},
			{Name: metric.Writes, Raw: "consul_txn_apply_count", Added: true},
			{Name: metric.WriteSeconds, Raw: "consul_kvs_apply_sum", Unit: millis, Added: true},
			{Name: metric.WriteSeconds, Raw: "consul_txn_apply_sum", Unit: millis, Added: true},
			{Name: metric.PeerTrips, Raw: "consul_raft_replication_heartbeat_count", Labelled: true},
			{Name: metric.PeerTripSeconds, Raw: "consul_raft_replication_heartbeat_sum", Unit: millis, Labelled: true},
			{Name: metric.Replications, Raw: "consul_raft_replication_appendEntries_rpc_count", Labelled: true},
			{Name: metric.ReplicationSeconds, Raw: "consul_raft_replication_appendEntries_rpc_sum", Unit: millis, Labelled: true},
			{Name: metric.ReadChecks, Raw: "consul_rpc_consistentRead_count"},
			{Name: metric.ReadCheckSeconds, Raw: "consul_rpc_consistentRead_sum", Unit: millis},
		},
	}
}
