package page

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
)

// mostPoints limits the points over all figures, and so the page size. mostBins limits the bins per
// line. Each bin keeps two points; a screen cannot show more.
const (
	mostPoints = 75_000
	mostBins   = 600
	leastBins  = 100
)

// binsFor returns the number of bins for each line on the page.
func binsFor(all []Figure) int {
	bins := mostBins
	for ; bins > leastBins; bins -= 50 {
		points := 0
		for _, f := range all {
			for _, s := range f.Series {
				values := 1
				if s.Low != nil {
					values = 3
				}
				points += values * min(len(s.Y), 2*bins)
			}
		}
		if points <= mostPoints {
			break
		}
	}
	return bins
}

// thinned reduces long lines to the lowest and the highest point in each of bins equal parts of the
// axis. A band keeps its extremes around these points. A note states that points were left out; the
// CSV has them all.
func thinned(f figure.Figure, bins int) figure.Figure {
	if f.Kind != figure.Lines && f.Kind != figure.Stairs {
		return f
	}
	all, most := slices.Clone(f.Series), 0
	for i, s := range all {
		if len(s.X) > 2*bins && slices.IsSorted(s.X) {
			all[i] = thinnedSeries(s, bins)
			most = max(most, len(s.X))
		}
	}
	if most > 0 {
		f.Series = all
		f.Notes = append(slices.Clip(f.Notes), "On this page, each line shows the lowest and the highest point of every part of the axis; the data files have all points.")
	}
	return f
}

func thinnedSeries(s figure.Series, bins int) figure.Series {
	from, to := s.X[0], s.X[len(s.X)-1]
	width := (to - from) / float64(bins)
	bin := func(i int) int { return min(int((s.X[i]-from)/width), bins-1) }
	var kept []int
	var low, high []float64
	for first := 0; first < len(s.X); {
		last := first
		for last+1 < len(s.X) && bin(last+1) == bin(first) {
			last++
		}
		for _, i := range extremes(s.Y, first, last) {
			kept = append(kept, i)
			low = append(low, edges(s.Low, first, last, math.Min))
			high = append(high, edges(s.High, first, last, math.Max))
		}
		first = last + 1
	}
	out := s
	out.X, out.Y, out.Labels, out.Details = at(s.X, kept), at(s.Y, kept), at(s.Labels, kept), at(s.Details, kept)
	out.Uncertain, out.Partial = at(s.Uncertain, kept), at(s.Partial, kept)
	if s.Low != nil {
		out.Low, out.High = low, high
	}
	return out
}

// at returns the values at some indexes; nil for nil.
func at[T any](values []T, places []int) []T {
	if values == nil {
		return nil
	}
	out := make([]T, len(places))
	for n, i := range places {
		out[n] = values[i]
	}
	return out
}

// extremes returns the indexes of the lowest and the highest value in y[first:last+1], in order, or
// one index if the whole part is a gap.
func extremes(y []float64, first, last int) []int {
	low, high := -1, -1
	for i := first; i <= last; i++ {
		if math.IsNaN(y[i]) {
			continue
		}
		if low < 0 || y[i] < y[low] {
			low = i
		}
		if high < 0 || y[i] > y[high] {
			high = i
		}
	}
	switch {
	case low < 0:
		return []int{first}
	case low == high:
		return []int{low}
	}
	return []int{min(low, high), max(low, high)}
}

// edges combines the values in a part of a band edge, which may have gaps.
func edges(values []float64, first, last int, join func(a, b float64) float64) float64 {
	if values == nil {
		return 0
	}
	all := math.NaN()
	for _, v := range values[first : last+1] {
		switch {
		case math.IsNaN(v):
		case math.IsNaN(all):
			all = v
		default:
			all = join(all, v)
		}
	}
	return all
}
