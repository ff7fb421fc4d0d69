package figure

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// slack forgives rounding at the edge of the plot.
const slack = vg.Length(1e-6)

func (p *page) contains(at vg.Point) bool {
	return at.X >= p.plot.left-slack && at.X <= p.plot.right+slack &&
		at.Y >= p.plot.bottom-slack && at.Y <= p.plot.top+slack
}

// clip cuts a line to the plot area: one that is wholly inside comes back whole.
func (p *page) clip(points []vg.Point) [][]vg.Point {
	if p.containsAll(points) {
		return [][]vg.Point{points}
	}
	area := p.area()
	return area.ClipLinesXY(points)
}

// clipArea cuts a polygon to the plot area.
func (p *page) clipArea(points []vg.Point) []vg.Point {
	if p.containsAll(points) {
		return points
	}
	area := p.area()
	return area.ClipPolygonXY(points)
}

func (p *page) containsAll(points []vg.Point) bool {
	return !slices.ContainsFunc(points, func(at vg.Point) bool { return !p.contains(at) })
}

func (p *page) area() draw.Canvas {
	return draw.Canvas{Rectangle: vg.Rectangle{
		Min: vg.Point{X: p.plot.left, Y: p.plot.bottom},
		Max: vg.Point{X: p.plot.right, Y: p.plot.top},
	}}
}
