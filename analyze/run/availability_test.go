package run

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestDeclined: out of ten swaps, six were ok, three lost their race and one was refused.
func TestDeclined(t *testing.T) {
	s := &results.Summary{OK: 6, Histogram: histogram.New(), Declined: histogram.New(), Unanswered: results.Unanswered{N: 1}}
	for n := range 6 {
		s.Latency.Add(time.Duration(n+1) * time.Millisecond)
		histogram.Record(s.Histogram, time.Duration(n+1)*time.Millisecond)
	}
	for range 3 {
		histogram.Record(s.Declined, 8*time.Millisecond)
	}
	for name, tc := range map[string]struct {
		format   int
		load     workload.Load
		declined Measure
	}{
		"swaps":                  {2, workload.Load{Content: workload.Content{Operation: workload.OpSwap}}, Counted(3)},
		"writes":                 {2, workload.Load{Content: workload.Content{Operation: workload.OpWrite}}, Inapplicable("only loads that swap or delete have it")},
		"swaps, an older record": {1, workload.Load{Content: workload.Content{Operation: workload.OpSwap}}, notThen()},
	} {
		info := &Info{Manifest: &results.Manifest{Format: tc.format}, Record: &results.DatabaseRun{Load: results.Load{Load: tc.load}}}
		a := availabilityOf(info, &Stage{}, s)
		if a.Declined.Value != tc.declined.Value || a.Declined.Missing != tc.declined.Missing || a.Declined.Words != tc.declined.Words {
			t.Errorf("%s: %+v declined, want %+v", name, a.Declined, tc.declined)
		}
		if a.Declined.Known() && (a.DeclinedShare.Value != 30 || a.DeclinedShare.N != 10 || len(a.Success.Marks) != 1 || a.Success.Marks[0] != "30 % more were answered and declined: lost swaps") {
			t.Errorf("%s: %+v of 10 declined, and marks %q of the success: want 30 %% and a mark with it", name, a.DeclinedShare, a.Success.Marks)
		}
		if a.Success.N != 10 || a.Success.Value != 60 {
			t.Errorf("%s: success of %v %% of %d, want 60 %% of 10", name, a.Success.Value, a.Success.N)
		}
	}
	d := DueDistribution(s)
	if d.N.Int() != 10 {
		t.Errorf("distribution of %v requests, want 10", d.N)
	}
	for q, want := range map[float64]float64{.6: 6, .7: 8, .9: 8} {
		if m := d.Quantile(q); !m.Known() || m.Value < want || m.Value > 1.001*want {
			t.Errorf("quantile %v = %+v, want %v ms: a swap that lost its race was answered", q, m, want)
		}
	}
	if m := d.Quantile(1); m.Known() || m.Words != notAnswered.Words {
		t.Errorf("slowest %+v, want %q: a refused request has no response time", m, notAnswered.Words)
	}
}

// TestFastestOfDeclined: declined requests leave the exact minimum of the others alone, unless one
// was faster.
func TestFastestOfDeclined(t *testing.T) {
	s := &results.Summary{OK: 1, Histogram: histogram.New(), Declined: histogram.New()}
	s.Latency.Add(653_914)
	histogram.Record(s.Histogram, 653_914)
	histogram.Record(s.Declined, 8*time.Millisecond)
	if got := DueDistribution(s).Min.Value; got != .653914 {
		t.Errorf("the fastest is %v ms, want 0.653914", got)
	}
	histogram.Record(s.Declined, time.Microsecond)
	if got := DueDistribution(s).Min.Value; got > .0011 {
		t.Errorf("the fastest is %v ms, want 0.001", got)
	}
}
