package histogram

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Rank returns the rank of quantile q among n sorted samples, from 1 to n: ceil(q*n), the
// nearest-rank definition. The sample at that rank is the smallest not exceeded by a share q of
// all samples. Every percentile here uses Rank. It is 0 if n is 0.
func Rank(q float64, n int64) int64 {
	// 0.07*100 is 7.000000000000001 in binary: a product within a few units in the last place of
	// a whole number is that number.
	exact := q * float64(n)
	return min(max(int64(math.Ceil(exact*(1-1e-15))), 1), n)
}

// ValueAtRank returns the value in nanoseconds of the sample at a rank, from 1, to the histogram's
// three digits. It is 0 for an empty histogram.
func ValueAtRank(h *hdrhistogram.Histogram, rank int64) int64 {
	n := h.TotalCount()
	if n == 0 {
		return 0
	}
	// The library adds one half to percentile/100*n and truncates, which gives rank.
	return h.ValueAtQuantile(100 * float64(rank) / float64(n))
}

// Quantile returns the value in nanoseconds at [Rank]: Quantile(h, 0.99) is p99. It is 0
// for an empty histogram; check TotalCount and [Enough] before printing a quantile.
func Quantile(h *hdrhistogram.Histogram, q float64) int64 {
	return ValueAtRank(h, Rank(q, h.TotalCount()))
}

// AtMost counts the samples not longer than a time in nanoseconds, to the histogram's three digits.
func AtMost(h *hdrhistogram.Histogram, ns int64) (n int64) {
	for _, b := range BucketsOf(h) {
		if b.Value <= ns {
			n += b.Count
		}
	}
	return n
}

// Enough reports whether n samples support a quantile q: at least ten must lie above it, n >=
// 10/(1-q).
func Enough(q float64, n int64) bool {
	// 1-q is inexact in binary (0.1 becomes a little less); the tolerance makes
	// 100 samples enough for p90.
	return float64(n)*(1-q) >= 10-1e-6
}
