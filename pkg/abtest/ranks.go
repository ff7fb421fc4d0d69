package abtest

import (
	"math"
	"slices"
)

// tied is the distance below which two differences of logarithms are one value: far
// below any measurement, above what rounding leaves.
const tied = 1e-12

// doubledRanks returns twice the rank of each value, counted from 1. Tied values share
// the mean of their ranks, which is why ranks are doubled: they stay whole numbers.
func doubledRanks(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return a - b
	})
	ranks := make([]int, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]]-values[order[to-1]] <= tied {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + 1 + to // (from+1 + to) / 2, doubled
		}
		from = to
	}
	return ranks
}

// tails returns P(X <= x) and P(X >= x) of a distribution over whole numbers from 0.
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

// orderInterval returns the interval of sorted values that leaves out outside of them
// at each end, and nothing bounded if outside is negative.
func orderInterval(sorted []float64, outside int) (low, high float64) {
	if outside < 0 || 2*outside >= len(sorted) {
		return math.Inf(-1), math.Inf(1)
	}
	return sorted[outside], sorted[len(sorted)-1-outside]
}

// median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// outside returns the largest count x with P(X <= x) <= share, -1 if there is none.
func outside(mass []float64, share float64) int {
	sum := 0.0
	for x, p := range mass {
		if sum += p; sum > share*(1+1e-9) {
			return x - 1
		}
	}
	return len(mass) - 1
}
