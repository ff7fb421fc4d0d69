package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/ability/capacity"
)

// Figures show the windows of a capacity search over their rates as passes (at 100 %) and failures
// (at 0 %), the fitted pass probability, and the capacity interval as a band.
func (Half) Figures(columns []abilities.Column) []figure.Figure {
	least, most := -5.0, 105.0 // leave room for the markers
	f := figure.Figure{
		Name: "CAPACITY", Short: "Capacity", Kind: figure.Lines,
		X:    figure.Axis{Label: "Rate", Unit: "requests/s", Log: true},
		Y:    figure.Axis{Label: "Windows that pass", Unit: "%", Min: &least, Max: &most},
		Band: "95 % interval of the capacity",
	}
	for _, c := range columns {
		points := seriesOf(c)
		points.Name += ", windows"
		points.Loose = true
		var fits []figure.Series
		for n, r := range c.Runs {
			if r.Capacity == nil {
				continue
			}
			f.Subtitle = cmp.Or(f.Subtitle, "A window passes with "+r.Capacity.SLO()+": markers at 100 % passed, at 0 % failed; lines are the fitted probability")
			addWindows(&points, r.Capacity)
			fit := seriesOf(c)
			fit.Name, fit.Trial = r.Info.Name(), n+1
			if addCurve(&fit, r.Capacity); len(fit.X) > 0 {
				fits = append(fits, fit)
			}
		}
		switch {
		case len(fits) == 1 && len(c.Runs) == 1:
			fits[0].Trial = 0
			f.Series = append(f.Series, fits[0])
		case len(fits) > 0: // these have windows
			f.Series = append(f.Series, median(c))
			for _, one := range fits {
				one.Detail, one.Thin, one.Marker = true, true, one.Trial
				f.Series = append(f.Series, one)
			}
			f.Band = "95 % interval of the capacity; of trials, median and range of the fits"
		}
		if len(points.X) > 0 {
			f.Series = append(f.Series, points)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{f}
}

// seriesOf returns an empty series for a database.
func seriesOf(c abilities.Column) figure.Series {
	return figure.Series{Name: c.Name, Key: c.Key, Variant: c.Variant, Marker: c.Marker, Panel: c.Panel}
}

// addWindows adds a point for each search window.
func addWindows(s *figure.Series, c *run.Capacity) {
	for _, w := range c.Windows {
		if w.Kind == capacity.KindSearch && w.Void != 1 {
			s.X, s.Y = append(s.X, w.Rate), append(s.Y, 100*float64(w.Pass))
		}
	}
}

// median returns the median over all fits at each rate that any trial tried, with a band from the
// lowest to the highest.
func median(c abilities.Column) figure.Series {
	s := seriesOf(c)
	s.Statistic = "median"
	low, high := math.Inf(1), 0.0
	var fits []*run.Capacity
	for _, r := range c.Runs {
		if r.Capacity == nil || r.Capacity.Fit == nil {
			continue
		}
		fits = append(fits, r.Capacity)
		for _, w := range r.Capacity.Windows {
			low, high = min(low, w.Rate), max(high, w.Rate)
		}
	}
	for i := range placesOfCurve + 1 {
		rate := low * math.Pow(high/low, float64(i)/placesOfCurve)
		var at []float64
		for _, fit := range fits {
			at = append(at, passing(fit, rate))
		}
		s.X, s.Y = append(s.X, rate), append(s.Y, trials.SpreadOf(at).Median)
		s.Low, s.High = append(s.Low, slices.Min(at)), append(s.High, slices.Max(at))
	}
	return s
}

// placesOfCurve is the number of segments in a fitted line.
const placesOfCurve = 120

// passing is the fitted probability, in percent, that a window passes at a rate.
func passing(c *run.Capacity, rate float64) float64 {
	return 100 * (1 - c.Fit.Lapse) * .5 * math.Erfc(math.Log(rate/c.Fit.Threshold)/c.Fit.Spread/math.Sqrt2)
}

// addCurve adds the fitted probability over the rates of the windows, and the capacity interval as
// a full-height band.
func addCurve(s *figure.Series, c *run.Capacity) {
	if c.Fit == nil {
		return
	}
	low, high := math.Inf(1), 0.0
	for _, w := range c.Windows {
		low, high = min(low, w.Rate), max(high, w.Rate)
	}
	if high == 0 {
		return
	}
	inside := func(rate float64) bool { return c.Found() && rate >= c.Low && rate <= c.High }
	add := func(rate float64) {
		y := passing(c, rate)
		from, to := math.NaN(), math.NaN()
		if inside(rate) {
			from, to = 0, 100
		}
		s.X, s.Y, s.Low, s.High = append(s.X, rate), append(s.Y, y), append(s.Low, from), append(s.High, to)
	}
	ends := []float64{c.Low, c.High}
	for i := range placesOfCurve + 1 {
		rate := low * math.Pow(high/low, float64(i)/placesOfCurve)
		for len(ends) > 0 && ends[0] <= rate {
			if ends[0] >= low {
				add(ends[0])
			}
			ends = ends[1:]
		}
		add(rate)
	}
}
