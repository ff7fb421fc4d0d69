package zookeeper

import (
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
)

var _ database.MetricsReporter = (*Options)(nil)

// metrics returns the metrics of a planned member.
func metrics(m database.Member) *database.MetricsSource {
	s := reports(address(m.Self(), "client"))
	return &s
}

// Reports returns a member's metrics at its client address. Its 4lw.commands.whitelist must have
// mntr.
func (o *Options) Reports(t database.Target, member int) database.MetricsSource {
	s := reports(t.Endpoints[member])
	s.Metrics = append(s.Metrics, otherNames(s.Metrics)...)
	return s
}

// otherNames returns the names that members use whose metricsProvider is the one for Prometheus: in
// the answer to mntr, where sums and counts are named otherwise, and at the provider port.
func otherNames(list []database.ReportedMetric) (others []database.ReportedMetric) {
	for _, m := range list {
		name := strings.TrimPrefix(m.Raw, "zk_")
		for begin, end := range map[string]string{"cnt_": "_count", "sum_": "_sum"} {
			if of, ok := strings.CutPrefix(name, begin); ok {
				name = of + end
				m.Raw = "zk_" + name
				others = append(others, m)
			}
		}
		m.Raw = name
		others = append(others, m)
	}
	return others
}

// reports returns the metrics a member reports for mntr. Versions before 3.6 have few of them.
// Times are in whole milliseconds.
func reports(endpoint string) database.MetricsSource {
	const millis = .001
	return database.MetricsSource{
		Address: endpoint, Command: "mntr",
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
			{Name: metric.QueueTakes, Raw: "zk_cnt_sync_processor_queue_size"},
			{Name: metric.QueueLengthSum, Raw: "zk_sum_sync_processor_queue_size"},
			{Name: metric.PrepareTakes, Raw: "zk_cnt_prep_processor_queue_size"},
			{Name: metric.PrepareLengthSum, Raw: "zk_sum_prep_processor_queue_size"},
		},
	}
}
