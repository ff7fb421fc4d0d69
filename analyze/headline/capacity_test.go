package headline

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// searched gives runs the capacity that their throughput is; 0 is none.
func searched(e experiment, limit func(tag string) time.Duration) []*run.Run {
	all := e.runs()
	for _, r := range all {
		rate := r.Stages[0].Throughput.Average.Value
		c := &results.Capacity{Capacity: workload.Capacity{Latency: limit(r.Info.Record.Tag), At: 99, Errors: .1, Share: 80}, Reason: "found", Rate: rate, Low: rate * .98, High: rate * 1.02, Counted: 20}
		if rate == 0 {
			c.Reason, c.Stalled = "stalls", 9
		}
		r.Capacity = &run.Capacity{Capacity: c}
	}
	return all
}

// Capacities are compared if their limits are the same; trials without one are no part of
// the median.
func TestVerdictOfCapacities(t *testing.T) {
	same := func(string) time.Duration { return 20 * time.Millisecond }
	differ := func(tag string) time.Duration { return time.Duration(len(tag)) * time.Millisecond }
	const once = " Each ran once, so nothing shows how far a repetition would differ."
	two := experiment{order: []string{"etcd", "consul"}, trials: []map[string][2]float64{{"etcd": {1600, 5}, "consul": {1000, 9}}}}
	trials := func(rates ...float64) (e experiment) {
		e.order = []string{"etcd"}
		for _, r := range rates {
			e.trials = append(e.trials, map[string][2]float64{"etcd": {r, 5}})
		}
		return e
	}
	for _, tt := range []struct {
		name  string
		runs  []*run.Run
		want  string
		ratio string // of the last column
	}{
		{"the same limits", searched(two, same), "At capacity (p99 <= 20 ms), etcd answered 1.6 times as many writes a second as consul." + once, "0.62 x"},
		{"different limits", searched(two, differ), "The capacities are of different limits, and so not compared.", ""},
		{"one", searched(trials(1000), same), "etcd sustains 1,000 writes a second with p99 <= 20 ms.", ""},
		{"trials", searched(trials(1000, 1200, 1100), same), "etcd sustains 1,100 writes a second with p99 <= 20 ms, the median of 3 trials.", ""},
		{"trials without one", searched(trials(0, 1200, 1100), same), "etcd sustains 1,150 writes a second with p99 <= 20 ms, the median of the trials that found a capacity, 2 of 3.", ""},
		{"none", searched(trials(0), same), "No capacity was found.", ""},
	} {
		h := Of(tt.runs, nil)
		if h.Verdict != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, h.Verdict, tt.want)
		}
		if row := h.Rows[0]; row.Name != capacityRow || row.Cells[len(row.Cells)-1].RatioText != tt.ratio {
			t.Errorf("%s: %s has the cells %+v, want the ratio %q", tt.name, row.Name, row.Cells, tt.ratio)
		}
	}
}
