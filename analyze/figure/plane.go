package figure

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plane is the area inside the axes, with a scale in each direction. It converts values to page
// coordinates.
type plane struct {
	box
	x, y scale
}

// newPlane makes both scales from the data. The area is set later, once the size of the surrounding
// text is known.
func newPlane(f Figure) plane {
	var xs, ys []float64
	for _, s := range f.Series {
		xs = append(xs, s.X...)
		ys = append(ys, s.Y...)
		ys = append(ys, s.Low...)
		ys = append(ys, s.High...)
		for _, b := range s.Boxes {
			ys = append(ys, b.values()...)
		}
	}
	if f.Kind == Heat {
		xs, ys = f.Grid.X, append(ys, f.Grid.occupied()...)
	}
	a := plane{y: valueScale(f.Y, ys, 6)}
	switch {
	case f.Kind == Bars:
		a.x = scale{min: 0, max: 1, warp: identity, has: finite}
	case f.Kind == Percentiles:
		a.x = percentileScale(f.X, xs)
	case f.Kind == Points:
		a.x = pointScale(f.X, xs, 7)
	case f.X.Log:
		a.x = logScale(f.X, xs)
	default:
		a.x = rangeScale(f.X, xs, 7)
	}
	return a
}

// horizontal and vertical are in points from the left and bottom edge of the page.
func (a *plane) horizontal(x float64) vg.Length {
	return a.left + vg.Length(a.x.at(x))*a.width()
}

func (a *plane) vertical(y float64) vg.Length {
	return a.bottom + vg.Length(a.y.at(y))*a.height()
}

// drawable reports whether any point in a series lies on both scales. Bars need only the vertical
// one.
func (a *plane) drawable(kind Kind, s Series) bool {
	for i := range s.Y {
		if a.y.has(s.Y[i]) && (kind == Bars || a.x.has(s.X[i])) {
			return true
		}
	}
	return false
}

// slack allows for rounding at the edge of the plot.
const slack = vg.Length(1e-6)

func (a *plane) contains(at vg.Point) bool {
	return at.X >= a.left-slack && at.X <= a.right+slack &&
		at.Y >= a.bottom-slack && at.Y <= a.top+slack
}

// clip clips a line to the area. A line entirely inside is returned unchanged.
func (a *plane) clip(points []vg.Point) [][]vg.Point {
	if a.containsAll(points) {
		return [][]vg.Point{points}
	}
	area := a.canvas()
	return area.ClipLinesXY(points)
}

// clipArea clips a polygon to the area.
func (a *plane) clipArea(points []vg.Point) []vg.Point {
	if a.containsAll(points) {
		return points
	}
	area := a.canvas()
	return area.ClipPolygonXY(points)
}

func (a *plane) containsAll(points []vg.Point) bool {
	return !slices.ContainsFunc(points, func(at vg.Point) bool { return !a.contains(at) })
}

func (a *plane) canvas() draw.Canvas {
	return draw.Canvas{Rectangle: vg.Rectangle{
		Min: vg.Point{X: a.left, Y: a.bottom},
		Max: vg.Point{X: a.right, Y: a.top},
	}}
}
