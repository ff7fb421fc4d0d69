package etcd

import (
	neturl "net/url"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
)

var _ database.MetricsReporter = (*Options)(nil)

// metrics returns the metrics of a planned member.
func metrics(m database.Member) *database.MetricsSource {
	s := reports(address(m.Self(), "client"), m.TLS != nil)
	return &s
}

// Reports returns a member's metrics at its client address.
func (o *Options) Reports(t database.Target, member int) database.MetricsSource {
	return reports(t.Endpoints[member], t.TLS != nil)
}

// reports returns the metrics that every etcd from 3.4 to 3.7 serves on its client port. The
// request needs no credentials; with TLS it needs the certificate clients need.
func reports(endpoint string, secure bool) database.MetricsSource {
	u := neturl.URL{Scheme: "http", Host: endpoint, Path: "/metrics"}
	if secure {
		u.Scheme = "https"
	}
	return database.MetricsSource{
		URL: u.String(),
		Metrics: []database.ReportedMetric{
			{Name: metric.Fsyncs, Raw: "etcd_disk_wal_fsync_duration_seconds_count"},
			{Name: metric.FsyncSeconds, Raw: "etcd_disk_wal_fsync_duration_seconds_sum"},
			{Name: metric.FsyncHistogram, Raw: "etcd_disk_wal_fsync_duration_seconds_bucket"},
			{Name: metric.Commits, Raw: "etcd_disk_backend_commit_duration_seconds_count"},
			{Name: metric.CommitSeconds, Raw: "etcd_disk_backend_commit_duration_seconds_sum"},
			{Name: metric.CommitHistogram, Raw: "etcd_disk_backend_commit_duration_seconds_bucket"},
			{Name: metric.Snapshots, Raw: "etcd_debugging_snap_save_total_duration_seconds_count"},
			{Name: metric.SnapshotSeconds, Raw: "etcd_debugging_snap_save_total_duration_seconds_sum"},
			{Name: metric.IsLeader, Raw: "etcd_server_is_leader"},
			{Name: metric.LeaderChanges, Raw: "etcd_server_leader_changes_seen_total"},
			{Name: metric.ProposalsCommitted, Raw: "etcd_server_proposals_committed_total"},
			{Name: metric.ProposalsApplied, Raw: "etcd_server_proposals_applied_total"},
			{Name: metric.ProposalsPending, Raw: "etcd_server_proposals_pending"},
			{Name: metric.ProposalsFailed, Raw: "etcd_server_proposals_failed_total"},
			{Name: metric.SlowApplies, Raw: "etcd_server_slow_apply_total"},
			{Name: metric.SlowReads, Raw: "etcd_server_slow_read_indexes_total"},
			{Name: metric.DBBytes, Raw: "etcd_mvcc_db_total_size_in_bytes"},
			{Name: metric.DBUsedBytes, Raw: "etcd_mvcc_db_total_size_in_use_in_bytes"},
			{Name: metric.Keys, Raw: "etcd_debugging_mvcc_keys_total"},
			{Name: metric.Watches, Raw: "etcd_debugging_mvcc_watcher_total"},
			{Name: metric.PauseSeconds, Raw: "go_gc_duration_seconds_sum"},
			{Name: metric.HeapBytes, Raw: "go_memstats_heap_alloc_bytes"},
			{Name: metric.PeerTrips, Raw: "etcd_network_peer_round_trip_time_seconds_count", Labelled: true},
			{Name: metric.PeerTripSeconds, Raw: "etcd_network_peer_round_trip_time_seconds_sum", Labelled: true},
			{Name: metric.Applies, Raw: "etcd_server_apply_duration_seconds_count", Labelled: true},
			{Name: metric.ApplySeconds, Raw: "etcd_server_apply_duration_seconds_sum", Labelled: true},
		},
	}
}
