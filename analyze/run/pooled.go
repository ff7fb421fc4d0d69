package run

import (
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Pooled merges the histograms of several distributions. Distributions without a histogram are left
// out, so N may be smaller than their sum. Unanswered requests rank above all others. Mean and
// deviation are unknown.
func Pooled(all []*Distribution) *Distribution {
	d, h, n := unknownDistribution(noHistogram), histogram.New(), int64(0)
	for _, one := range all {
		if one.answered == nil || !one.N.Known() || one.N.Value == 0 {
			continue
		}
		h.Merge(one.answered)
		n += int64(one.N.Value)
		if one.Min.Known() && (!d.Min.Known() || one.Min.Value < d.Min.Value) {
			d.Min = one.Min
		}
		if one.Max.Known() && (!d.Max.Known() || one.Max.Value > d.Max.Value) {
			d.Max = one.Max
		}
	}
	if n == 0 {
		return d
	}
	d.N, d.answered = Counted(n), h
	d.Quantile = func(q float64) Measure {
		rank := histogram.Rank(q, n)
		if rank > h.TotalCount() {
			return notAnswered
		}
		m := percentile(histogram.ValueAtRank(h, rank), n, q == 1 || histogram.Enough(q, n))
		if d.Min.Known() {
			m.Value = max(m.Value, d.Min.Value)
		}
		if d.Max.Known() {
			m.Value = min(m.Value, d.Max.Value)
		}
		return m
	}
	return d
}
