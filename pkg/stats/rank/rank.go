// Package rank orders values for tests that compare ranks.
package rank

import "slices"

// Doubled returns twice each value's rank, counted from 1. Values share their mean rank if each
// lies within tied of the next lower one; doubled ranks stay whole numbers. The values must not be
// NaN.
func Doubled(values []float64, tied float64) []int {
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
