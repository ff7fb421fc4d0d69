package results

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestLoadJSON pins loads in manifests, byte by byte: folders from earlier releases have them.
func TestLoadJSON(t *testing.T) {
	closed := workload.Load{
		Content: workload.Content{Operation: workload.OpWrite},
		Extent:  workload.Extent{Requests: 500, Clients: 10, Connections: 5},
		Pace:    workload.Pace{Ramp: time.Second, Arrival: workload.ArrivalConstant, Backlog: workload.BacklogKeep},
		Sizing:  workload.Sizing{KeySize: 8, ValueSize: 16},
		Limits:  workload.Limits{Timeout: 10, Drain: 10},
		Route:   workload.Route{Target: "all"},
	}
	mixed := workload.Load{
		Content:  workload.Content{Workload: "ycsb-b", Mix: []workload.Share{{Operation: workload.OpRead, Weight: 0.95}, {Operation: workload.OpUpdate, Weight: 0.05}}, Read: workload.ReadStale},
		Keyspace: workload.Keyspace{Keys: 1000, KeyLaw: workload.KeysZipfian, SameKey: true},
		Extent:   workload.Extent{Duration: time.Second, Clients: 1, Connections: 1, Steps: []workload.Step{{Clients: 1, Connections: 1, Rate: 100}, {Clients: 7, Connections: 3, Rate: 50}}},
		Pace: workload.Pace{Rate: 100, RateEnd: 200,
			Arrival: workload.ArrivalPoisson, Backlog: workload.BacklogShed},
		Sizing: workload.Sizing{KeySize: 8, ValueSize: 16, ValueSizeMax: 32, RangeLimit: 5},
		Limits: workload.Limits{Timeout: 10, Drain: 20, WarmUp: 3, CoolDown: 4},
		Route:  workload.Route{Target: "leader"},
	}
	for _, test := range []struct {
		name string
		load Load
		want string
	}{
		{"a closed loop", Load{Load: closed.Recorded()}, `{"operation":"write","requests":500,"clients":10,"connections":5,"ramp_ns":1000000000,` +
			`"key_size_bytes":8,"value_size_bytes":16,"timeout_ns":10,"target":"all"}`},
		{"steps of a mix", Load{Load: mixed.Recorded(), FirstKey: 1234}, `{"operation":"","workload":"ycsb-b",` +
			`"mix":[{"operation":"read","weight":0.95},{"operation":"update","weight":0.05}],"keys":1000,"key_law":"zipfian",` +
			`"same_key":true,"first_key":1234,"read_mode":"stale","duration_ns":1000000000,"clients":7,"connections":3,"rate":100,"rate_end":200,` +
			`"arrival":"poisson","backlog":"shed","key_size_bytes":8,"value_size_bytes":16,"value_size_max_bytes":32,"range_limit":5,` +
			`"timeout_ns":10,"drain_ns":20,"warm_up_ns":3,"cool_down_ns":4,"target":"leader"}`},
		{"nothing known", Load{}, `{"operation":"","clients":0,"connections":0,"key_size_bytes":0,"value_size_bytes":0,"timeout_ns":0}`},
	} {
		data, err := json.Marshal(test.load)
		if err != nil {
			t.Fatalf("%s: encode: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, string(data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		var again Load
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatalf("%s: decode: %v", test.name, err)
		}
		if diff := cmp.Diff(test.load, again); diff != "" {
			t.Errorf("%s, read again (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestStepJSON pins steps in manifests, byte by byte.
func TestStepJSON(t *testing.T) {
	s := Step{Index: 1, Step: workload.Step{Clients: 2, Connections: 1, Requests: 3, Rate: 4, RateEnd: 5}, InsideNS: 6}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("encode a step: %v", err)
	}
	if want := `{"index":1,"clients":2,"connections":1,"requests":3,"rate":4,"rate_end":5,"inside_ns":6}`; string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
}

// TestSpreadOf: percentiles are the values at the nearest rank, as in histograms.
func TestSpreadOf(t *testing.T) {
	if got := SpreadOf(nil); got != nil {
		t.Errorf("the spread of nothing is %+v", got)
	}
	for _, n := range []int64{1, 2, 3, 100, 1000, 1001} {
		var times []int64
		for v := n; v >= 1; v-- {
			times = append(times, v)
		}
		want := Spread{N: n, Mean: n * (n + 1) / 2 / n, P50: histogram.Rank(.5, n), P99: histogram.Rank(.99, n), P999: histogram.Rank(.999, n), Max: n}
		if got := SpreadOf(times); *got != want {
			t.Errorf("the spread of 1 to %d is %+v, want %+v", n, *got, want)
		}
	}
}

// TestSpreadOfHistogram: no percentile is above the longest time, which buckets know less exactly.
func TestSpreadOfHistogram(t *testing.T) {
	h := histogram.New()
	if SpreadOfHistogram(nil, 0) != nil || SpreadOfHistogram(h, 0) != nil {
		t.Error("nothing has a spread")
	}
	const longest = 123_456_789
	histogram.Record(h, time.Second/1000)
	histogram.Record(h, longest)
	if edge := histogram.Quantile(h, 1); edge <= longest {
		t.Fatalf("the edge of a bucket is %d: the test needs one above %d", edge, longest)
	}
	want := Spread{N: 2, Mean: int64(h.Mean()), P50: histogram.Quantile(h, .5), P99: longest, P999: longest, Max: longest}
	if got := SpreadOfHistogram(h, longest); *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}
