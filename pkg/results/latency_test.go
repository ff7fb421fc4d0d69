package results

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
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
	for _, ms := range []int{2, 4, 4, 4, 5, 5, 7, 9} { // the textbook's: mean 5, deviation 2
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
	h := NewHistogram()
	var l Latency
	for range 1000 {
		d := 10_000_001 * time.Nanosecond
		l.Add(d)
		Record(h, d)
	}
	l.SetPercentiles(h)
	if l.P50 != 10_000_001 || l.P999 != 10_000_001 {
		t.Errorf("one value, but %+v", l)
	}
}

func TestRecordClamps(t *testing.T) {
	h := NewHistogram()
	for d, want := range map[time.Duration]bool{-1: false, 0: false, MaxLatency: false, MaxLatency + 1: true, math.MaxInt64: true} {
		if got := Record(h, d); got != want {
			t.Errorf("Record(%v) clamped: %v", d, got)
		}
	}
	if h.TotalCount() != 5 {
		t.Errorf("%d of 5 values were recorded", h.TotalCount())
	}
	if max := Quantile(h, 1); float64(max) < float64(MaxLatency) || float64(max) > float64(MaxLatency)*1.001 {
		t.Errorf("the maximum became %v", time.Duration(max))
	}
}

func TestQuantile(t *testing.T) {
	h := NewHistogram()
	if got := Quantile(h, 0.99); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
	for ms := 1; ms <= 1000; ms++ {
		Record(h, time.Duration(ms)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0.1: 100e6, 0.5: 500e6, 0.9: 900e6, 0.99: 990e6, 0.999: 999e6, 1: 1000e6} {
		if got := float64(Quantile(h, q)); math.Abs(got-want) > want/1000 {
			t.Errorf("q %v: %v instead of %v", q, got, want)
		}
	}
}

func TestEnough(t *testing.T) {
	for _, tc := range []struct {
		q    float64
		n    int64
		want bool
	}{
		{0.5, 19, false}, {0.5, 20, true},
		{0.9, 99, false}, {0.9, 100, true},
		{0.99, 999, false}, {0.99, 1000, true},
		{0.999, 9999, false}, {0.999, 10000, true},
		{1, math.MaxInt64, false},
	} {
		if got := Enough(tc.q, tc.n); got != tc.want {
			t.Errorf("Enough(%v, %d) = %v", tc.q, tc.n, got)
		}
	}
}
