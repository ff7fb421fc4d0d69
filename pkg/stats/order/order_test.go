package order

import (
	"math"
	"testing"
)

// Intervals for small samples stand in every table of order statistics: for 6 values the range
// covers the median with probability 1 - 2/64, for 10 the second to the ninth with 1 - 22/1024.
func TestOf(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   Median
	}{
		{[]float64{3}, Median{N: 1, Is: 3, Low: 3, High: 3}},
		{[]float64{5, 1, 2, 4, 3}, Median{N: 5, Is: 3, Low: 1, High: 5}},
		{[]float64{6, 1, 2, 4, 3, 5}, Median{N: 6, Is: 3.5, Low: 1, High: 6, Coverage: 1 - 2.0/64}},
		{[]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, Median{N: 10, Is: 5.5, Low: 2, High: 9, Coverage: 1 - 22.0/1024}},
	} {
		got := Of(tc.values)
		if math.Abs(got.Coverage-tc.want.Coverage) > 1e-12 {
			t.Errorf("%v: coverage %v, want %v", tc.values, got.Coverage, tc.want.Coverage)
		}
		if got.Coverage = tc.want.Coverage; got != tc.want {
			t.Errorf("%v: %+v, want %+v", tc.values, got, tc.want)
		}
	}
	if got := Of(nil); got.N != 0 || !math.IsNaN(got.Is) {
		t.Errorf("no values: %+v", got)
	}
}

// For many values it is the normal law's interval: 1.96 deviations on each side, where a deviation
// is half the root of n.
func TestOfMany(t *testing.T) {
	for _, n := range []int{400, 10_000} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i)
		}
		got, want := Of(values), 1.96*math.Sqrt(float64(n))/2
		if math.Abs(got.Is-got.Low-want) > 1 || math.Abs(got.High-got.Is-want) > 1 || got.Coverage < 0.95 || got.Coverage > 0.96 {
			t.Errorf("%d values: %+v, want %v on each side", n, got, want)
		}
	}
}
