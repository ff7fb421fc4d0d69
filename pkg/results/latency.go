package results

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Latency summarizes the latencies that ended in one interval. Sums, minimum and maximum are
// exact; percentiles come from a histogram of three significant digits and are 0 when Count is 0
// or when values were merged.
type Latency struct {
	Count int64
	SumNS int64
	// SumSqMS2 sums the squares, in square milliseconds.
	SumSqMS2            float64
	MinNS, MaxNS        int64
	P50, P90, P99, P999 int64 // nanoseconds
}

// Add counts one latency; percentiles are left alone.
func (l *Latency) Add(latency time.Duration) {
	ns := int64(latency)
	if l.Count == 0 || ns < l.MinNS {
		l.MinNS = ns
	}
	l.MaxNS = max(l.MaxNS, ns)
	l.Count++
	l.SumNS += ns
	ms := float64(ns) / float64(time.Millisecond)
	l.SumSqMS2 += ms * ms
}

// Merge returns the summary of both populations. Its percentiles are 0, because percentiles
// cannot be merged: take them from merged histograms.
func (l Latency) Merge(o Latency) Latency {
	m := Latency{
		Count:    l.Count + o.Count,
		SumNS:    l.SumNS + o.SumNS,
		SumSqMS2: l.SumSqMS2 + o.SumSqMS2,
		MinNS:    l.MinNS,
		MaxNS:    max(l.MaxNS, o.MaxNS),
	}
	if l.Count == 0 || (o.Count > 0 && o.MinNS < l.MinNS) {
		m.MinNS = o.MinNS
	}
	return m
}

// SetPercentiles takes the percentiles from the histogram for the same population. They are kept
// within the exact minimum and maximum, which a bucket edge may exceed by 0.1 %.
func (l *Latency) SetPercentiles(h *hdrhistogram.Histogram) {
	l.P50, l.P90, l.P99, l.P999 = 0, 0, 0, 0
	if l.Count == 0 || h.TotalCount() == 0 {
		return
	}
	l.P50, l.P90 = l.Quantile(h, 0.50), l.Quantile(h, 0.90)
	l.P99, l.P999 = l.Quantile(h, 0.99), l.Quantile(h, 0.999)
}

// Quantile returns [histogram.Quantile] on the histogram for the same population, kept within the
// exact minimum and maximum.
func (l Latency) Quantile(h *hdrhistogram.Histogram, q float64) int64 {
	return min(max(histogram.Quantile(h, q), l.MinNS), l.MaxNS)
}

// Mean returns the mean in nanoseconds, 0 when Count is 0.
func (l Latency) Mean() float64 {
	if l.Count == 0 {
		return 0
	}
	return float64(l.SumNS) / float64(l.Count)
}

// StdDev returns the standard deviation in nanoseconds, 0 when Count is 0.
func (l Latency) StdDev() float64 {
	if l.Count == 0 {
		return 0
	}
	mean := l.Mean() / float64(time.Millisecond)
	// Rounding may leave a difference just below zero.
	variance := max(l.SumSqMS2/float64(l.Count)-mean*mean, 0)
	return math.Sqrt(variance) * float64(time.Millisecond)
}
