package figure

import "math"

// extreme bounds the values on a scale. No measurement comes near it, and arithmetic with it
// neither overflows nor loses all digits.
const extreme = 1e100

// finite reports whether a linear scale can represent a number.
func finite(v float64) bool { return math.Abs(v) <= extreme }

// positive reports whether a logarithmic scale can represent a number.
func positive(v float64) bool { return v >= 1/extreme && v <= extreme }

// apart reports whether the two ends are far enough apart for a scale.
func apart(low, high float64) bool {
	return high-low > max(1e-12*max(math.Abs(low), math.Abs(high)), 1/extreme)
}

func belowHundred(v float64) bool { return v >= 0 && v < 100 }

// span returns the smallest and the largest value that has accepts; ok is false if there is no such
// value.
func span(has func(float64) bool, values []float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if has(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high, low <= high
}
