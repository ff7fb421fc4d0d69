package table

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/google/go-cmp/cmp"
)

func TestPercentilesOfFewRequestsAreMarked(t *testing.T) {
	for _, test := range []struct {
		n    int
		sure []string // all others up to p99.99 are marked
	}{
		{1, nil},
		{5, nil},
		{99, []string{"p10", "p25", "p50", "p75"}},
		{100, []string{"p10", "p25", "p50", "p75", "p90"}},
		{1000, []string{"p10", "p25", "p50", "p75", "p90", "p95", "p99"}},
		{100_000, []string{"p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99"}},
	} {
		h := histogram.New()
		var l results.Latency
		for i := range test.n {
			d := time.Duration(i+1) * time.Microsecond
			histogram.Record(h, d)
			l.Add(d)
		}
		d := run.DistributionOf(l, h)
		var sure []string
		for _, p := range percentiles {
			c := percentile(d.Quantile(p.q))
			if c.Value == nil || *c.Value <= 0 {
				t.Errorf("n=%d: %s = %+v", test.n, p.name, c)
				continue
			}
			// Request i took i us: the value is the rank, give or take rounding it and the 0.1 % in
			// the histogram.
			if want := p.q * float64(test.n) / 1000; math.Abs(*c.Value-want) > .001+want/500 {
				t.Errorf("n=%d: %s = %v ms, want %v", test.n, p.name, *c.Value, want)
			}
			marked := strings.HasSuffix(c.Shown(), " *")
			if marked != (len(c.Marks) == 1) {
				t.Errorf("n=%d: %s = %+v", test.n, p.name, c)
			}
			if !marked {
				sure = append(sure, p.name)
			}
		}
		if diff := cmp.Diff(test.sure, sure); diff != "" {
			t.Errorf("n=%d: percentiles without a mark (-want +got):\n%s", test.n, diff)
		}
	}
}
