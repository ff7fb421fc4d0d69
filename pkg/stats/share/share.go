// Package share has the exact interval for a share: how often something happens in the long run if
// it happened k times in n.
package share

import "math"

// outside is the probability that an interval leaves out on each side.
const outside = 0.025

// Interval returns Clopper and Pearson's interval for k of n, which contains the share with at
// least 95 % probability. At a share below it, k or more have less than 2.5 % probability, as have
// k or fewer at a share above it.
func Interval(k, n int) (low, high float64) {
	low, high = 0, 1
	if k > 0 {
		low = least(func(p float64) bool { return 1-atMost(k-1, n, p) > outside })
	}
	if k < n {
		high = least(func(p float64) bool { return atMost(k, n, p) < outside })
	}
	return low, high
}

// least returns the least share for which holds is true; it must be true for all shares above.
func least(holds func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// atMost returns the probability that at most k of n happen at a share between 0 and 1.
func atMost(k, n int, p float64) (sum float64) {
	for i := range k + 1 {
		all, _ := math.Lgamma(float64(n + 1))
		chosen, _ := math.Lgamma(float64(i + 1))
		rest, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - chosen - rest + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}
