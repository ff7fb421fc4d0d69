package results

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

func TestMergeIsTheUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Int64Range(0, int64(time.Minute)))
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		summary := func(values ...int64) (l Latency) {
			for _, v := range values {
				l.Add(time.Duration(v))
			}
			return l
		}
		got, want := summary(a...).Merge(summary(b...)), summary(append(a, b...)...)
		if math.Abs(got.SumSqMS2-want.SumSqMS2) > 1e-9*want.SumSqMS2 {
			t.Fatalf("squares %v, want %v", got.SumSqMS2, want.SumSqMS2)
		}
		got.SumSqMS2 = want.SumSqMS2
		if got != want {
			t.Fatalf("merged %+v, want %+v", got, want)
		}
	})
}

func TestMergeForgetsPercentiles(t *testing.T) {
	l := Latency{Count: 1, P50: 1, P90: 2, P99: 3, P999: 4}
	if m := l.Merge(Latency{}); m.P50 != 0 || m.P90 != 0 || m.P99 != 0 || m.P999 != 0 {
		t.Errorf("percentiles were merged: %+v", m)
	}
}

func TestMeanAndDeviation(t *testing.T) {
	var l Latency
	if l.Mean() != 0 || l.StdDev() != 0 {
		t.Errorf("of nothing: %v, %v", l.Mean(), l.StdDev())
	}
	for _, ms := range []int{2, 4, 4, 4, 5, 5, 7, 9} { // from the textbook: mean 5, deviation 2
		l.Add(time.Duration(ms) * time.Millisecond)
	}
	if l.Mean() != 5e6 || math.Abs(l.StdDev()-2e6) > 1e-3 {
		t.Errorf("mean %v, deviation %v", l.Mean(), l.StdDev())
	}
	if l.MinNS != 2e6 || l.MaxNS != 9e6 || l.Count != 8 || l.SumNS != 40e6 {
		t.Errorf("%+v", l)
	}
}

func TestQuantilesStayWithinTheExtremes(t *testing.T) {
	h := histogram.New()
	var l Latency
	for range 1000 {
		d := 10_000_001 * time.Nanosecond
		l.Add(d)
		histogram.Record(h, d)
	}
	l.SetPercentiles(h)
	if l.P50 != 10_000_001 || l.P999 != 10_000_001 {
		t.Errorf("one value, but %+v", l)
	}
}
