package chart

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
)

// Overlapping bands can be told apart if there are two; three merge into brown. In that case each
// database gets its own panel.

const (
	// overlapPlaces is the number of x positions at which bands are compared. mostOverlap is the
	// share of these positions at which three bands may overlap.
	overlapPlaces = 100
	mostOverlap   = 0.1
	// thinBand is the height, as a share of the vertical axis, below which a band hides nothing.
	thinBand = 0.02
)

// apart gives each database its own panel if more than two bands overlap.
func (d *Data) apart(f *figure.Figure) {
	n := len(d.groups())
	if f.Kind == figure.Bars || f.Kind == figure.Heat || len(f.Panels) > 0 || n < 3 || n > mostPanels || overlap(f) <= mostOverlap {
		return
	}
	for _, g := range d.groups() {
		f.Panels = append(f.Panels, g.Title())
	}
	all := f.Series
	f.Series = nil
	for _, s := range all {
		if s.Key != dueKey || s.Name != "due" {
			f.Series = append(f.Series, s)
			continue
		}
		for i, title := range f.Panels {
			s.Panel, s.Name = i, title+", due"
			f.Series = append(f.Series, s)
		}
	}
	f.Steps, f.Grey = inEachPanel(f.Steps, n, func(b *figure.Boundary) (*int, bool) { return &b.Panel, b.Key == 0 }), inEachPanel(f.Grey, n, func(s *figure.Stretch) (*int, bool) { return &s.Panel, s.Key == 0 })
	for i := range f.Steps {
		f.Steps[i].Key = 0
	}
	for i := range f.Events {
		f.Events[i].Key = 0
	}
	withoutEmptyPanels(f)
}

// inEachPanel repeats shared marks in each of n panels, and leaves others in their own panel.
func inEachPanel[T any](all []T, n int, panelOf func(*T) (panel *int, shared bool)) (out []T) {
	for _, one := range all {
		panel, shared := panelOf(&one)
		if !shared {
			out = append(out, one)
			continue
		}
		for i := range n {
			*panel = i
			out = append(out, one)
		}
	}
	return out
}

// overlap returns the share of x positions at which at least three bands overlap.
func overlap(f *figure.Figure) float64 {
	height := func(v float64) float64 {
		if f.Y.Log {
			return math.Log10(v)
		}
		return v
	}
	var bands []figure.Series
	least, most, left, right := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range f.Series {
		if s.Detail || s.Low == nil {
			continue
		}
		bands = append(bands, s)
		for i := range s.X {
			for _, v := range []float64{height(s.Low[i]), height(s.High[i])} {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					least, most = min(least, v), max(most, v)
				}
			}
			left, right = min(left, s.X[i]), max(right, s.X[i])
		}
	}
	if len(bands) < 3 || most <= least {
		return 0
	}
	found := 0
	for n := range overlapPlaces {
		x := left + (right-left)*(float64(n)+.5)/overlapPlaces
		var lows, highs []float64
		for _, s := range bands {
			low, high := height(between(s.X, s.Low, x)), height(between(s.X, s.High, x))
			if high-low > thinBand*(most-least) {
				lows, highs = append(lows, low), append(highs, high)
			}
		}
		if deepest(lows, highs) > 2 {
			found++
		}
	}
	return float64(found) / overlapPlaces
}

// between returns the value of a line at x; NaN outside the line and in its gaps.
func between(xs, ys []float64, x float64) float64 {
	at, _ := slices.BinarySearch(xs, x)
	if at == 0 || at == len(xs) {
		return math.NaN()
	}
	share := (x - xs[at-1]) / (xs[at] - xs[at-1])
	return ys[at-1]*(1-share) + ys[at]*share
}

// deepest returns the most intervals with a common value.
func deepest(lows, highs []float64) (most int) {
	for _, v := range lows {
		n := 0
		for i := range lows {
			if lows[i] <= v && v < highs[i] {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
