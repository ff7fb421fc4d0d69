// Package order has the interval that order statistics give for a median, with the exact
// probability that it covers the median, whatever the distribution.
package order

import (
	"math"
	"slices"
)

// Least is the fewest values whose interval covers the median with a probability of 95 %.
const Least = 6

// Median is a median and its confidence interval.
type Median struct {
	N         int
	Is        float64
	Low, High float64
	// Coverage is the probability that [Low, High] contains the median of the distribution. For
	// fewer values than [Least] it is 0, and Low and High are their range.
	Coverage float64
}

// Of returns the median of some values. Its interval goes from one value to the one equally far
// from the other end; it is the shortest such interval that covers the median with at least 95 %.
// Without values the median is NaN.
func Of(values []float64) Median {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return Median{Is: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	m := Median{N: n, Is: Middle(sorted), Low: sorted[0], High: sorted[n-1]}
	if n < Least {
		return m
	}
	// The number below the median among n values is binomial: outside is left out at each end.
	tail := 0.0
	for outside := 0; 2*outside < n; outside++ {
		tail += math.Exp(logChoose(n, outside) - float64(n)*math.Ln2) // a product would underflow from 1075 values on
		if 1-2*tail < 0.95 {
			break
		}
		m.Low, m.High, m.Coverage = sorted[outside], sorted[n-1-outside], 1-2*tail
	}
	return m
}

// Middle returns the median of sorted values. There must be at least one.
func Middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// logChoose returns the logarithm of n choose k.
func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	chosen, _ := math.Lgamma(float64(k + 1))
	rest, _ := math.Lgamma(float64(n - k + 1))
	return all - chosen - rest
}
