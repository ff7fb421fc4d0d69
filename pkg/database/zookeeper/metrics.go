package zookeeper

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
)

// metrics returns the metrics that a member reports for mntr. Versions before 3.6 have few
// of them. Times are in whole milliseconds.
func metrics(m database.Member) *database.MetricsSource {
	const millis = .001
	return &database.MetricsSource{
		Address: address(m.Self(), "client"), Command: "mntr",
		Metrics: []database.ReportedMetric{
			{Name: metric.Fsyncs, Raw: "zk_cnt_fsynctime"},
			{Name: metric.FsyncSeconds, Raw: "zk_sum_fsynctime", Unit: millis},
			{Name: metric.Snapshots, Raw: "zk_cnt_snapshottime"},
			{Name: metric.SnapshotSeconds, Raw: "zk_sum_snapshottime", Unit: millis},
			{Name: metric.IsLeader, Raw: "zk_server_state", Words: map[string]float64{"leader": 1, "standalone": 1, "follower": 0, "observer": 0}},
			{Name: metric.Outstanding, Raw: "zk_outstanding_requests"},
			{Name: metric.LatencyAvgSeconds, Raw: "zk_avg_latency", Unit: millis},
			{Name: metric.LatencyMaxSeconds, Raw: "zk_max_latency", Unit: millis},
			{Name: metric.Connections, Raw: "zk_num_alive_connections"},
			{Name: metric.DBUsedBytes, Raw: "zk_approximate_data_size"},
			{Name: metric.Keys, Raw: "zk_znode_count"},
			{Name: metric.Watches, Raw: "zk_watch_count"},
			{Name: metric.PauseSeconds, Raw: "zk_sum_jvm_pause_time_ms", Unit: millis},
			{Name: metric.Agreements, Raw: "zk_cnt_quorum_ack_latency"},
			{Name: metric.AgreementSeconds, Raw: "zk_sum_quorum_ack_latency", Unit: millis},
			{Name: metric.Queued, Raw: "zk_cnt_sync_processor_queue_time_ms"},
			{Name: metric.QueueSeconds, Raw: "zk_sum_sync_processor_queue_time_ms", Unit: millis},
			{Name: metric.Writes, Raw: "zk_cnt_updatelatency"},
			{Name: metric.WriteSeconds, Raw: "zk_sum_updatelatency", Unit: millis},
		},
	}
}
