// Package stationary finds out whether a series of equal intervals, such as the throughput in each
// second, keeps its level.
//
// Pettitt's test (A. N. Pettitt, "A non-parametric approach to the change-point problem", 1979)
// finds a change of level. It compares ranks, so that neither the distribution nor single outliers
// matter. It assumes independent values, which seconds in a load are not quite. So a change must
// also be large: see [Series.Change]. A series steps if two levels describe it better than Theil
// and Sen's line, else it drifts. The steady part is the longest one in which the test finds no
// further change.
package stationary

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/pkg/stats/rank"
)

// Level is the probability, by Pettitt's test, below which a change is not by chance.
const Level = 0.001

// Shortest is the fewest values in which a change can be found: with fewer, even the clearest step
// has a higher probability than [Level].
const Shortest = 22

// mostBins bounds the values that are compared: more are averaged, because a change that lasts for
// one per cent of a series is not a change of its level.
const mostBins = 120

// Kind is the way in which a series changes.
type Kind string

// The kinds.
const (
	Steady Kind = ""
	Steps  Kind = "steps"
	Drifts Kind = "drifts"
)

// Series has one value for each of equal intervals.
type Series struct {
	Values []float64
	// Change is the least change between medians that counts, as a share of the larger one: 0.1 is
	// 10 %.
	Change float64
}

// Finding is the result from testing a series.
type Finding struct {
	Kind Kind
	// At is the first interval after the change.
	At int
	// Before and After are the levels: for a step the medians on both sides, for a drift the ends
	// of the line.
	Before, After float64
	// From and To bound the steady part, half open; equal if no quarter of the series is
	// steady. Median is its level.
	From, To int
	Median   float64
}

// Find tests a series. A series that is too short is steady.
func (s Series) Find() Finding {
	width := (len(s.Values) + mostBins - 1) / mostBins
	if len(s.Values) < Shortest {
		return Finding{To: len(s.Values), Median: median(s.Values)}
	}
	values := binned(s.Values, width)
	at, changed := s.split(values)
	if !changed {
		return Finding{To: len(s.Values), Median: median(s.Values)}
	}
	f := Finding{Kind: Steps, At: at * width, Before: median(values[:at]), After: median(values[at:])}
	if first, last, apart := line(values); apart < spreadOf(values[:at])+spreadOf(values[at:]) {
		f.Kind, f.Before, f.After = Drifts, first, last
	}
	from, to := s.longest(values, 0)
	if 4*(to-from) >= len(values) {
		f.From, f.To = from*width, min(to*width, len(s.Values))
		f.Median = median(s.Values[f.From:f.To])
	}
	return f
}

// longest returns the longest part without a change, which begins at offset at the
// earliest.
func (s Series) longest(values []float64, offset int) (from, to int) {
	at, changed := s.split(values)
	if !changed {
		return offset, offset + len(values)
	}
	from, to = s.longest(values[:at], offset)
	if a, b := s.longest(values[at:], offset+at); b-a > to-from {
		from, to = a, b
	}
	return from, to
}

// split returns where the largest change is, and whether it counts.
func (s Series) split(values []float64) (at int, changed bool) {
	if len(values) < Shortest {
		return 0, false
	}
	at, p := pettitt(values)
	if p >= Level {
		return at, false
	}
	before, after := median(values[:at]), median(values[at:])
	return at, math.Abs(after-before) >= s.Change*max(math.Abs(before), math.Abs(after))
}

// pettitt returns where the ranks change most, and the probability that values from one
// distribution change that much.
func pettitt(values []float64) (at int, p float64) {
	n := float64(len(values))
	most, doubled := 0.0, 0
	for i, r := range rank.Doubled(values, 0) {
		doubled += r
		if u := math.Abs(float64(doubled) - float64(i+1)*(n+1)); u > most {
			most, at = u, i+1
		}
	}
	return at, min(1, 2*math.Exp(-6*most*most/(n*n*n+n*n)))
}

// line returns the ends of Theil and Sen's line, whose slope is the median over the slopes between
// all pairs, and the values' total distance from it.
func line(values []float64) (first, last, apart float64) {
	var slopes []float64
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
		}
	}
	slope := median(slopes)
	rest := make([]float64, len(values))
	for i, v := range values {
		rest[i] = v - slope*float64(i)
	}
	first = median(rest)
	for _, v := range rest {
		apart += math.Abs(v - first)
	}
	return first, first + slope*float64(len(values)-1), apart
}

// spreadOf returns the values' total distance from their median.
func spreadOf(values []float64) (apart float64) {
	m := median(values)
	for _, v := range values {
		apart += math.Abs(v - m)
	}
	return apart
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// binned returns means over width values each; the last bin may have fewer.
func binned(values []float64, width int) (out []float64) {
	for part := range slices.Chunk(values, width) {
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		out = append(out, sum/float64(len(part)))
	}
	return out
}
