package share

import (
	"math"
	"testing"
)

// The values are from tables of Clopper and Pearson's intervals.
func TestInterval(t *testing.T) {
	for _, tt := range []struct {
		k, n      int
		low, high float64
	}{{0, 20, 0, 0.1684}, {20, 20, 0.8316, 1}, {10, 20, 0.2720, 0.7280}, {5, 6, 0.3588, 0.9958}, {0, 0, 0, 1}} {
		low, high := Interval(tt.k, tt.n)
		if math.Abs(low-tt.low) > 5e-5 || math.Abs(high-tt.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
}
