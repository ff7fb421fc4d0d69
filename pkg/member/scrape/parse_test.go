package scrape

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// etcdLike has a metric of every kind.
var etcdLike = []database.ReportedMetric{
	{Name: metric.Fsyncs, Raw: "etcd_disk_wal_fsync_duration_seconds_count"},
	{Name: metric.FsyncSeconds, Raw: "etcd_disk_wal_fsync_duration_seconds_sum"},
	{Name: metric.FsyncHistogram, Raw: "etcd_disk_wal_fsync_duration_seconds_bucket"},
	{Name: metric.IsLeader, Raw: "etcd_server_is_leader"},
	{Name: metric.DBBytes, Raw: "etcd_mvcc_db_total_size_in_bytes"},
	{Name: metric.PauseSeconds, Raw: "go_gc_duration_seconds_sum"},
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	return data
}

func parsed(metrics []database.ReportedMetric, text []byte) results.DatabaseSample {
	s := results.NewDatabaseSample()
	newWanted(metrics).parsePrometheus(text, &s)
	return s
}

func wantValues(t *testing.T, s results.DatabaseSample, want map[metric.Name]float64) {
	t.Helper()
	for _, m := range metric.OfDatabase().Metrics() {
		x, listed := want[m.Name]
		if !listed {
			x = metric.Unknown
		}
		if got := s.Values.Get(m.Name); math.Abs(got-x) > 1e-12 {
			t.Errorf("%s must be %v, got %v", m.Name, x, got)
		}
	}
}

func TestEtcd(t *testing.T) {
	s := parsed(etcdLike, fixture(t, "etcd-3.7.prom"))
	full := reference(t, fixture(t, "etcd-3.7.prom"), etcdLike)
	if diff := cmp.Diff(full.Histograms, s.Histograms); diff != "" || !s.Histograms[metric.FsyncHistogram].Known() {
		t.Errorf("the histogram must be that of a full parser (-want +got):\n%s", diff)
	}
	if !s.Values.Equal(full.Values) || s.Values.Get(metric.IsLeader) != 1 || s.Values.Get(metric.Fsyncs) < 1 {
		t.Errorf("the values must be those of a full parser, %v, got %v", full.Values, s.Values)
	}
	if n := s.Histograms[metric.FsyncHistogram].Count(); n != s.Values.Get(metric.Fsyncs) {
		t.Errorf("the histogram must count all %v fsyncs, got %v", s.Values.Get(metric.Fsyncs), n)
	}
}

func TestConsul(t *testing.T) {
	s := parsed([]database.ReportedMetric{
		{Name: metric.Fsyncs, Raw: "consul_raft_boltdb_storeLogs_count"},
		{Name: metric.FsyncSeconds, Raw: "consul_raft_boltdb_storeLogs_sum", Unit: .001},
		{Name: metric.ProposalsApplied, Raw: "consul_raft_applied_index"},
	}, fixture(t, "consul-1.16.0.prom"))
	wantValues(t, s, map[metric.Name]float64{metric.Fsyncs: 17, metric.FsyncSeconds: .03989597645401955, metric.ProposalsApplied: 16})
}

func TestZooKeeper(t *testing.T) {
	metrics := []database.ReportedMetric{
		{Name: metric.Snapshots, Raw: "zk_cnt_snapshottime"},
		{Name: metric.PauseSeconds, Raw: "zk_sum_jvm_pause_time_ms", Unit: .001},
		{Name: metric.IsLeader, Raw: "zk_server_state", Words: map[string]float64{"leader": 1, "standalone": 1, "follower": 0}},
		{Name: metric.Connections, Raw: "zk_num_alive_connections"},
		{Name: metric.LatencyAvgSeconds, Raw: "zk_avg_latency", Unit: .001},
		{Name: metric.Keys, Raw: "zk_znode_count"},
		{Name: metric.DBBytes, Raw: "zk_last_client_response_size"}, // -1: unknown
	}
	parse := func(text string) results.DatabaseSample {
		s := results.NewDatabaseSample()
		newWanted(metrics).parsePairs([]byte(text), &s)
		return s
	}
	text := string(fixture(t, "zookeeper-3.9.5.mntr"))
	pause := parse(text).Values.Get(metric.PauseSeconds)
	if pause < 0 {
		t.Error("the pauses of the JVM must be known")
	}
	want := map[metric.Name]float64{metric.Snapshots: 1, metric.PauseSeconds: pause, metric.IsLeader: 1, metric.Connections: 1, metric.LatencyAvgSeconds: 0, metric.Keys: 5}
	wantValues(t, parse(text), want)
	want[metric.IsLeader] = 0
	wantValues(t, parse(strings.Replace(text, "standalone", "follower", 1)), want)
	delete(want, metric.IsLeader)
	wantValues(t, parse(strings.Replace(text, "standalone", "leader-ish", 1)), want)
	wantValues(t, parse("This ZooKeeper instance is not currently serving requests\n"), nil)
	wantValues(t, parse("zk_znode_count\nzk_znode_count\tmany\nzk_num_alive_connections\tNaN\n"), nil)
}

// A sum over labels has all lines with labels, whatever these say.
func TestLabelled(t *testing.T) {
	sums := []database.ReportedMetric{{Name: metric.PeerTripSeconds, Raw: "trips_sum", Labelled: true, Unit: .001}, {Name: metric.IsLeader, Raw: "leads"}}
	for text, want := range map[string]map[metric.Name]float64{
		"trips_sum{To=\"a\"} 250\ntrips_sum{To=\"b}\",x=\"1\"} 500 1700000000000\n": {metric.PeerTripSeconds: .75},
		"trips_sum{To=\"a\"} 0\n":                        {metric.PeerTripSeconds: 0},
		"trips_sum 250\nleads 1\n":                       {metric.PeerTripSeconds: 0, metric.IsLeader: 1},
		"trips_sum{To=\"a\" 250\n":                       {metric.PeerTripSeconds: 0},
		"trips_sum{To=\"a\"} NaN\ntrips_sum{To=\"b\"}\n": {metric.PeerTripSeconds: 0},
		"trips_sum{To=\"a\"} -1\n":                       {metric.PeerTripSeconds: 0},
		"trips_sum_not{To=\"a\"} 1\n":                    nil,
	} {
		wantValues(t, parsed(sums, []byte(text)), want)
	}
}

// Numbers with several names are added where the driver says so, else the last one counts.
func TestAdded(t *testing.T) {
	metrics := []database.ReportedMetric{
		{Name: metric.FsyncSeconds, Raw: "led_sum", Unit: .001, Added: true}, {Name: metric.FsyncSeconds, Raw: "followed_sum", Unit: .001, Added: true},
		{Name: metric.Keys, Raw: "keys_old"}, {Name: metric.Keys, Raw: "keys_new"},
	}
	for text, want := range map[string]map[metric.Name]float64{
		"followed_sum 250\nled_sum 500\n": {metric.FsyncSeconds: .75},
		"led_sum 500\n":                   {metric.FsyncSeconds: .5},
		"led_sum 0\nfollowed_sum NaN\n":   {metric.FsyncSeconds: 0},
		"keys_old 3\nkeys_new 4\n":        {metric.Keys: 4},
	} {
		wantValues(t, parsed(metrics, []byte(text)), want)
	}
}

// Lines that are no series, or another series, change nothing.
func TestOddLines(t *testing.T) {
	for text, want := range map[string]map[metric.Name]float64{
		"etcd_server_is_leader 1":                                        {metric.IsLeader: 1},
		"etcd_server_is_leader 1 1700000000000\r\n":                      {metric.IsLeader: 1},
		"  etcd_server_is_leader\t1\n":                                   {metric.IsLeader: 1},
		"etcd_server_is_leader{a=\"b\"} 1\n":                             nil,
		"etcd_server_is_leader NaN\n":                                    nil,
		"etcd_server_is_leader +Inf\n":                                   nil,
		"etcd_server_is_leader -1\n":                                     nil,
		"etcd_server_is_leader\n":                                        nil,
		"etcd_server_is_leader_not 1\n":                                  nil,
		"# etcd_server_is_leader 1\n":                                    nil,
		"<html>etcd_server_is_leader 1</html>":                           nil,
		"etcd_disk_wal_fsync_duration_seconds_bucket 3\n":                nil,
		"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"1\"} 3\n":      nil, // without +Inf
		"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} -3\n":  nil,
		"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"x\"} 3\n":      nil,
		"etcd_disk_wal_fsync_duration_seconds_bucket{a=\"b\",le=\"1\"}3": nil,
	} {
		s := parsed(etcdLike, []byte(text))
		wantValues(t, s, want)
		if len(s.Histograms) > 0 {
			t.Errorf("%q must give no histogram, got %v", text, s.Histograms)
		}
	}
	falling := "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"1\"} 3\netcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 2\n"
	if s := parsed(etcdLike, []byte(falling)); len(s.Histograms) > 0 {
		t.Errorf("counts that fall must give no histogram, got %v", s.Histograms)
	}
}

// reference parses with the parser the field uses.
func reference(t *testing.T, text []byte, metrics []database.ReportedMetric) results.DatabaseSample {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("the full parser must take the text: %v", err)
	}
	s := results.NewDatabaseSample()
	for _, m := range metrics {
		for suffix, family := range map[string]string{
			"": m.Raw, "_count": strings.TrimSuffix(m.Raw, "_count"), "_sum": strings.TrimSuffix(m.Raw, "_sum"), "_bucket": strings.TrimSuffix(m.Raw, "_bucket"),
		} {
			f := families[family]
			if f == nil || suffix != "" && family == m.Raw {
				continue
			}
			for _, one := range f.GetMetric() {
				switch h := one.GetHistogram(); {
				case len(one.GetLabel()) > 0:
				case suffix == "" && one.GetGauge() != nil:
					s.Values.Set(m.Name, one.GetGauge().GetValue())
				case suffix == "" && one.GetCounter() != nil:
					s.Values.Set(m.Name, one.GetCounter().GetValue())
				case suffix == "_sum" && one.GetSummary() != nil:
					s.Values.Set(m.Name, one.GetSummary().GetSampleSum())
				case suffix == "_count" && h != nil:
					s.Values.Set(m.Name, float64(h.GetSampleCount()))
				case suffix == "_sum" && h != nil:
					s.Values.Set(m.Name, h.GetSampleSum())
				case suffix == "_bucket" && h != nil:
					var b metric.Buckets
					for _, bucket := range h.GetBucket() {
						b.Bounds, b.Counts = append(b.Bounds, bucket.GetUpperBound()), append(b.Counts, float64(bucket.GetCumulativeCount()))
					}
					s.Histograms[m.Name] = b
				}
			}
		}
	}
	return s
}

// FuzzPrometheus gives the parser any text: every accepted value is a number, 0 or more, or a
// histogram.
func FuzzPrometheus(f *testing.F) {
	f.Add(fixture(f, "etcd-3.7.prom"))
	f.Add([]byte("etcd_server_is_leader 1 5\netcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 3\n"))
	f.Add([]byte("etcd_disk_wal_fsync_duration_seconds_bucket{le=\"1\",} 3\n# HELP \n{ 5\n"))
	f.Fuzz(func(t *testing.T, text []byte) { sound(t, parsed(etcdLike, text)) })
}

// FuzzPairs is FuzzPrometheus for answers to commands.
func FuzzPairs(f *testing.F) {
	f.Add(fixture(f, "zookeeper-3.9.5.mntr"))
	f.Add([]byte("zk_server_state\tleader\nzk_znode_count\t1e9\nzk_cnt_fsynctime\t-1\n\t\t\n"))
	w := newWanted([]database.ReportedMetric{
		{Name: metric.Fsyncs, Raw: "zk_cnt_fsynctime"}, {Name: metric.Keys, Raw: "zk_znode_count", Unit: .001},
		{Name: metric.IsLeader, Raw: "zk_server_state", Words: map[string]float64{"leader": 1}},
	})
	f.Fuzz(func(t *testing.T, text []byte) {
		s := results.NewDatabaseSample()
		w.parsePairs(text, &s)
		sound(t, s)
	})
}

func sound(t *testing.T, s results.DatabaseSample) {
	t.Helper()
	for _, m := range metric.OfDatabase().Metrics() {
		if v := s.Values.Get(m.Name); math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && v != metric.Unknown {
			t.Errorf("%s must be 0 or more, or unknown, got %v", m.Name, v)
		}
	}
	for name, b := range s.Histograms {
		text := b.AppendText(nil)
		again, err := metric.ParseBuckets(string(text))
		if err != nil || !cmp.Equal(again, b) {
			t.Errorf("%s must be read back as it was written, %s, got %v, %v", name, text, again, err)
		}
	}
}

func BenchmarkPrometheus(b *testing.B) {
	text := bytes.Repeat(fixture(b, "etcd-3.7.prom"), 10) // about the size of a whole answer
	w := newWanted(etcdLike)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := results.NewDatabaseSample()
		w.parsePrometheus(text, &s)
	}
}
