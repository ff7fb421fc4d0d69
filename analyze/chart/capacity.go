package chart

import (
	"math"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// capacityFigures show the windows of searches for a capacity as passes (at 100 %) and
// failures (at 0 %) over their rates, the probability that the search has fitted to them,
// and the interval of the capacity as a band.
func capacityFigures(d *Data) []figure.Figure {
	least, most := -5.0, 105.0 // room for the markers
	f := figure.Figure{
		Name: "CAPACITY", Short: "Capacity", Kind: figure.Lines,
		X:    figure.Axis{Label: "Rate", Unit: "requests/s", Log: true},
		Y:    figure.Axis{Label: "Windows that pass", Unit: "%", Min: &least, Max: &most},
		Band: "95 % interval of the capacity",
	}
	for _, r := range d.Runs {
		if r.Capacity == nil {
			continue
		}
		if f.Subtitle == "" {
			f.Subtitle = "A window passes with " + r.Capacity.SLO() + ": markers at 100 % passed, at 0 % failed; lines are the fitted probability"
		}
		curve, points := d.line(r), d.line(r)
		addCurve(&curve, r.Capacity)
		points.Name += ", windows"
		points.Loose = true
		for _, w := range r.Capacity.Windows {
			if w.Kind != results.CapacitySearch || w.Void == 1 {
				continue
			}
			points.X, points.Y = append(points.X, w.Rate), append(points.Y, 100*float64(w.Pass))
		}
		if len(curve.X) > 0 {
			f.Series = append(f.Series, curve)
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

// addCurve adds the fitted probability over the rates of the windows, and the interval of
// the capacity as a band of the whole height.
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
	const places = 120
	inside := func(rate float64) bool { return c.Found() && rate >= c.Low && rate <= c.High }
	add := func(rate float64) {
		y := 100 * (1 - c.Fit.Lapse) * .5 * math.Erfc(math.Log(rate/c.Fit.Threshold)/c.Fit.Spread/math.Sqrt2)
		from, to := math.NaN(), math.NaN()
		if inside(rate) {
			from, to = 0, 100
		}
		s.X, s.Y, s.Low, s.High = append(s.X, rate), append(s.Y, y), append(s.Low, from), append(s.High, to)
	}
	ends := []float64{c.Low, c.High}
	for i := range places + 1 {
		rate := low * math.Pow(high/low, float64(i)/places)
		for len(ends) > 0 && ends[0] <= rate {
			if ends[0] >= low {
				add(ends[0])
			}
			ends = ends[1:]
		}
		add(rate)
	}
}
