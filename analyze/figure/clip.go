package figure

import (
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
	for _, at := range points {
		if !p.contains(at) {
			area := draw.Canvas{Rectangle: vg.Rectangle{
				Min: vg.Point{X: p.plot.left, Y: p.plot.bottom},
				Max: vg.Point{X: p.plot.right, Y: p.plot.top},
			}}
			return area.ClipLinesXY(points)
		}
	}
	return [][]vg.Point{points}
}
