package zookeeper

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
)

// A member whose metricsProvider is the one for Prometheus names its sums otherwise, in the answer
// to mntr and at the provider port.
func TestReports(t *testing.T) {
	names := map[metric.Name]map[string]bool{}
	source := New().Reports(database.Target{Endpoints: []string{"10.0.0.2:2181"}}, 0)
	for _, m := range source.Metrics {
		if names[m.Name] == nil {
			names[m.Name] = map[string]bool{}
		}
		names[m.Name][m.Raw] = true
		if seconds := metric.OfDatabase().Must(m.Name).Unit == "s"; seconds != (m.Unit == .001) {
			t.Errorf("%s must be in milliseconds if it is a time, got %+v", m.Raw, m)
		}
	}
	for name, want := range map[metric.Name][]string{
		metric.Fsyncs:       {"zk_cnt_fsynctime", "zk_fsynctime_count", "fsynctime_count"},
		metric.FsyncSeconds: {"zk_sum_fsynctime", "zk_fsynctime_sum", "fsynctime_sum"},
		metric.Keys:         {"zk_znode_count", "znode_count"},
	} {
		for _, raw := range want {
			if !names[name][raw] {
				t.Errorf("%s must be found as %s, got %v", name, raw, names[name])
			}
		}
	}
	if source.Address != "10.0.0.2:2181" || source.Command != "mntr" {
		t.Errorf("the member must be asked at its endpoint, got %+v", source)
	}
}
