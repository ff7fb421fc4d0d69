package run

import (
	"math"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Pooled percentiles are computed over the requests in all trials, never as a mean of percentiles:
// here nine in ten requests belong to the trial that took 1 ms.
func TestPooledPercentilesAreOfAllRequests(t *testing.T) {
	of := func(n int, each time.Duration) *Distribution {
		h, l := histogram.New(), results.Latency{}
		for range n {
			histogram.Record(h, each)
			l.Add(each)
		}
		return DistributionOf(l, h)
	}
	d := Pooled([]*Distribution{of(900, time.Millisecond), of(100, 21*time.Millisecond), Unmeasured("left out")})
	if d.N.Value != 1000 || d.Min.Value != 1 || d.Max.Value != 21 {
		t.Errorf("%v requests from %v to %v ms, want 1000 from 1 to 21", d.N.Value, d.Min.Value, d.Max.Value)
	}
	for q, want := range map[float64]float64{.5: 1, .9: 1, .901: 21, .99: 21} {
		if got := d.Quantile(q); math.Abs(got.Value-want) > want/1000 {
			t.Errorf("quantile %v is %v ms, want %v", q, got.Value, want)
		}
	}
	if d := Pooled([]*Distribution{Unmeasured("left out")}); d.Quantile(.5).Known() {
		t.Error("nothing together has a median")
	}
}
