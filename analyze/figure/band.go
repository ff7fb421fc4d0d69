package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// slice is the extent of a band at one x.
type slice struct{ x, low, high vg.Length }

// drawBand fills the area between Low and High, with breaks at gaps.
func (a *plane) drawBand(d pen, s Series) {
	color := veil(s.look().color)
	var open []slice
	flush := func() {
		if len(open) == 1 {
			// A band at a single x would have no area.
			one := open[0]
			open = []slice{{one.x - 2, one.low, one.high}, {one.x + 2, one.low, one.high}}
		}
		if len(open) > 0 {
			d.fill(color, a.clipArea(band(columns(open)))...)
		}
		open = nil
	}
	for i := range s.Low {
		x, low, high := s.X[i], min(s.Low[i], s.High[i]), max(s.Low[i], s.High[i])
		if !a.x.has(x) || !a.y.has(low) || !a.y.has(high) {
			flush()
			continue
		}
		open = append(open, slice{a.horizontal(x), a.vertical(low), a.vertical(high)})
	}
	flush()
}

// columns merges the slices that fall into the same column of unit width, like [thinned].
func columns(all []slice) []slice {
	var joined []slice
	for first := 0; first < len(all); {
		last, column := first, math.Floor(float64(all[first].x))
		wide := all[first]
		for last+1 < len(all) && math.Floor(float64(all[last+1].x)) == column {
			last++
			wide.low, wide.high = min(wide.low, all[last].low), max(wide.high, all[last].high)
		}
		joined = append(joined, wide)
		if last > first && last+1 == len(all) {
			joined = append(joined, slice{all[last].x, wide.low, wide.high})
		}
		first = last + 1
	}
	return joined
}

// band returns the outline around slices: along the highs and back along the lows.
func band(all []slice) []vg.Point {
	var points []vg.Point
	for _, s := range all {
		points = append(points, vg.Point{X: s.x, Y: s.high})
	}
	for _, s := range slices.Backward(all) {
		points = append(points, vg.Point{X: s.x, Y: s.low})
	}
	return points
}
