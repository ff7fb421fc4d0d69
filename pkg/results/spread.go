package results

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Spread is a distribution in a few numbers, in nanoseconds; N is the number of values. Records
// from earlier releases have no mean, which is 0 then.
type Spread struct {
	N    int64 `json:"n"`
	Mean int64 `json:"mean_ns,omitempty"`
	P50  int64 `json:"p50_ns"`
	P99  int64 `json:"p99_ns"`
	P999 int64 `json:"p999_ns"`
	Max  int64 `json:"max_ns"`
}

// SpreadOf returns the spread of some times, which it sorts, or nil. They may be below 0. Their
// percentiles are at the ranks from [histogram.Rank].
func SpreadOf(times []int64) *Spread {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	n, sum := int64(len(times)), int64(0)
	for _, t := range times {
		sum += t
	}
	at := func(q float64) int64 { return times[histogram.Rank(q, n)-1] }
	return &Spread{N: n, Mean: sum / n, P50: at(.5), P99: at(.99), P999: at(.999), Max: times[n-1]}
}

// SpreadOfHistogram returns the spread of times in a histogram, whose longest time is known in
// nanoseconds; nil for an empty or nil histogram. No percentile is above the longest, which a
// bucket edge may exceed by 0.1 %.
func SpreadOfHistogram(h *hdrhistogram.Histogram, longest int64) *Spread {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) int64 { return min(histogram.Quantile(h, q), longest) }
	return &Spread{N: h.TotalCount(), Mean: int64(h.Mean()), P50: at(.5), P99: at(.99), P999: at(.999), Max: longest}
}

// Enough reports whether there are enough values for the quantile q, as [histogram.Enough]
// does.
func (s Spread) Enough(q float64) bool { return histogram.Enough(q, s.N) }

// OrNil returns the spread, nil for one without values.
func (s Spread) OrNil() *Spread {
	if s.N == 0 {
		return nil
	}
	return &s
}
