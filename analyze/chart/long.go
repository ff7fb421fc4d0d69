package chart

import (
	"fmt"
	"math"

	"github.com/coreos/dbtester/analyze/figure"
)

// longSeconds is the load length in seconds from which figures over time merge seconds and count
// minutes.
const longSeconds = 600

// mostPoints limits the points in a line over time: more would look like a solid block.
const mostPoints = 240

// timeAxis is the axis for figures over time before they are shortened.
func timeAxis() figure.Axis { return figure.Axis{Label: "Time", Unit: "seconds"} }

// shorten merges the seconds in a long load: each point on a line is a mean over several seconds,
// with a band from their lowest to their highest value. The axis is in minutes or hours.
func shorten(f *figure.Figure) {
	if f.X.Label != timeAxis().Label || f.X.Unit != timeAxis().Unit {
		return
	}
	end := lastSecond(f)
	if end <= longSeconds {
		return
	}
	if f.Kind == figure.Lines {
		n := secondsOfPoint(end)
		for i := range f.Series {
			if !f.Series[i].Loose {
				join(&f.Series[i], n)
			}
		}
		f.Band = fmt.Sprintf("least to most second of %.0f", n)
		f.Notes = append(f.Notes, fmt.Sprintf("each point is the mean of %.0f seconds", n))
	}
	per, unit := 60.0, "minutes"
	if end > 6*3600 {
		per, unit = 3600, "hours"
	}
	inUnit(f, per)
	f.X.Unit = unit
}

// lastSecond returns the largest X in a figure.
func lastSecond(f *figure.Figure) (end float64) {
	for _, s := range f.Series {
		for _, x := range s.X {
			end = max(end, x)
		}
	}
	if f.Grid != nil && len(f.Grid.X) > 0 {
		end = max(end, f.Grid.X[len(f.Grid.X)-1])
	}
	return end
}

// secondsOfPoint returns the smallest round number of seconds per point that keeps the points few.
func secondsOfPoint(end float64) float64 {
	for _, n := range []float64{5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800} {
		if end <= n*mostPoints {
			return n
		}
	}
	return 3600 * math.Ceil(end/(3600*mostPoints))
}

// join merges n seconds into one point at their middle. Partial seconds count only if there are no
// others. Secondary statistics get no band.
func join(s *figure.Series, n float64) {
	out := *s
	out.X, out.Y, out.Low, out.High, out.Partial, out.Uncertain = nil, nil, nil, nil, nil, nil
	for first := 0; first < len(s.X); {
		bin := math.Floor(s.X[first] / n)
		last := first
		for last+1 < len(s.X) && math.Floor(s.X[last+1]/n) == bin {
			last++
		}
		mean, low, high, partial := joined(s, first, last)
		out.X, out.Y, out.Partial = append(out.X, (bin+.5)*n), append(out.Y, mean), append(out.Partial, partial)
		out.Low, out.High = append(out.Low, low), append(out.High, high)
		first = last + 1
	}
	if s.Thin {
		out.Low, out.High = nil, nil
	}
	*s = out
}

// joined returns the mean, minimum and maximum over points first to last, and whether every point
// with a value is a partial second.
func joined(s *figure.Series, first, last int) (mean, low, high float64, partial bool) {
	isPart := func(i int) bool { return s.Partial != nil && s.Partial[i] }
	partial = true
	for i := first; i <= last; i++ {
		partial = partial && (isPart(i) || math.IsNaN(s.Y[i]))
	}
	sum, n := 0.0, 0.0
	low, high = math.NaN(), math.NaN()
	for i := first; i <= last; i++ {
		if math.IsNaN(s.Y[i]) || isPart(i) && !partial {
			continue
		}
		if n == 0 {
			low, high = s.Y[i], s.Y[i]
		}
		sum, n = sum+s.Y[i], n+1
		low, high = min(low, s.Y[i]), max(high, s.Y[i])
	}
	return sum / n, low, high, partial && n > 0
}

// inUnit converts the time axis of a figure from seconds to another unit.
func inUnit(f *figure.Figure, seconds float64) {
	for i := range f.Series {
		x := make([]float64, len(f.Series[i].X))
		for j, v := range f.Series[i].X {
			x[j] = v / seconds
		}
		f.Series[i].X = x
	}
	for i := range f.Steps {
		f.Steps[i].X /= seconds
	}
	for i := range f.Events {
		f.Events[i].X /= seconds
	}
	for i := range f.Grey {
		f.Grey[i].From, f.Grey[i].To = f.Grey[i].From/seconds, f.Grey[i].To/seconds
	}
	if f.Grid != nil {
		for i := range f.Grid.X {
			f.Grid.X[i] /= seconds
		}
	}
	for _, end := range []**float64{&f.X.Min, &f.X.Max} {
		if *end != nil {
			v := **end / seconds
			*end = &v
		}
	}
}
