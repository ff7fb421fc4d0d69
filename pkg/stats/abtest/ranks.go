package abtest

import "math"

// tied is the distance below which two differences between logarithms count as equal: far below any
// measurement's precision, and above rounding errors.
const tied = 1e-12

// tails returns P(X <= x) and P(X >= x) for a distribution over whole numbers from 0.
func tails(mass []float64, x int) (below, above float64) {
	for v, p := range mass {
		if v <= x {
			below += p
		}
		if v >= x {
			above += p
		}
	}
	return min(below, 1), min(above, 1)
}

// orderInterval returns the interval of sorted values that excludes outside values at each end. It
// is unbounded if outside is negative.
func orderInterval(sorted []float64, outside int) (low, high float64) {
	if outside < 0 || 2*outside >= len(sorted) {
		return math.Inf(-1), math.Inf(1)
	}
	return sorted[outside], sorted[len(sorted)-1-outside]
}

// median returns the median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// outside returns the largest count x with P(X <= x) <= share; -1 if there is no such x.
func outside(mass []float64, share float64) int {
	sum := 0.0
	for x, p := range mass {
		if sum += p; sum > share*(1+1e-9) {
			return x - 1
		}
	}
	return len(mass) - 1
}
