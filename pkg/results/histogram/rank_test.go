package histogram

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	h := New()
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

// TestRank fixes the definition: the smallest rank whose share of samples reaches q.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		q       float64
		n, want int64
	}{
		{0.5, 0, 0}, {0, 10, 1}, {0.5, 1, 1}, {0.5, 2, 1}, {0.5, 3, 2}, {0.5, 4, 2}, {0.5, 5, 3},
		{0.07, 100, 7}, {0.9, 10, 9}, {0.99, 100, 99}, {0.99, 101, 100}, {0.999, 1000, 999}, {0.999, 12633, 12621}, {0.999, 12001, 11989}, {1, 7, 7},
		{0.9999, 1e9, 999900000}, {0.1, 3, 1},
	} {
		t.Run(fmt.Sprint(c.q, c.n), func(t *testing.T) {
			if got := Rank(c.q, c.n); got != c.want {
				t.Errorf("the rank of %v among %d samples is ceil(q*n) = %d, got %d", c.q, c.n, c.want, got)
			}
		})
	}
}
