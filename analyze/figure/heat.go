package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// heatShades is as many as the eye can distinguish in a heat map.
const heatShades = 10

// shade returns the i-th shade. All databases share one scale, from light yellow over green to dark
// violet, whose steps look equal and whose darker colours mean more, also in print and to
// colour-blind readers. It is viridis reversed, without its darkest part, on which lines would be
// invisible.
func shade(i int) color.RGBA {
	return [heatShades]color.RGBA{
		{0xec, 0xe5, 0x1b, 0xff}, {0xb0, 0xdd, 0x2f, 0xff}, {0x75, 0xd0, 0x54, 0xff}, {0x43, 0xbf, 0x71, 0xff}, {0x22, 0xa8, 0x84, 0xff},
		{0x20, 0x92, 0x8c, 0xff}, {0x2a, 0x78, 0x8e, 0xff}, {0x36, 0x5d, 0x8d, 0xff}, {0x43, 0x3e, 0x85, 0xff}, {0x48, 0x1c, 0x6e, 0xff},
	}[i]
}

// shadeOf selects the shade for a count on a logarithmic scale, so that 1 and 10 differ as much as
// 100 and 1,000.
func shadeOf(n, least, most float64) int {
	if most <= least {
		return heatShades - 1
	}
	t := (math.Log(n) - math.Log(least)) / (math.Log(most) - math.Log(least))
	return min(max(int(t*heatShades), 0), heatShades-1)
}

// draw draws the cells, one path per shade, the lightest first.
func (g *Grid) draw(d pen, on *plane) {
	least, most, ok := g.extent()
	if !ok {
		return
	}
	var shades [heatShades]vg.Path
	for column, rows := range g.Counts {
		for first := 0; first < len(rows); {
			last := first + 1
			if rows[first] > 0 {
				s := shadeOf(rows[first], least, most)
				// Adjacent cells with the same shade become one rectangle, which keeps large grids
				// small.
				for last < len(rows) && rows[last] > 0 && shadeOf(rows[last], least, most) == s {
					last++
				}
				on.addCell(&shades[s], g.X[column], g.X[column+1], g.Y[first], g.Y[last])
			}
			first = last
		}
	}
	for s, cells := range shades {
		if len(cells) > 0 {
			d.SetColor(shade(s))
			d.Fill(cells)
		}
	}
}

// addCell adds a rectangle, clipped to the plot. It slightly overlaps its neighbours; otherwise
// antialiasing would draw a white grid.
func (a *plane) addCell(path *vg.Path, left, right, low, high float64) {
	const hair = vg.Length(0.25)
	if !a.x.has(left) || !a.x.has(right) || !a.y.has(low) || !a.y.has(high) {
		return
	}
	b := box{
		max(a.horizontal(left), a.left), min(a.horizontal(right)+hair, a.right),
		max(a.vertical(low), a.bottom), min(a.vertical(high)+hair, a.top),
	}
	if b.width() <= 0 || b.height() <= 0 {
		return
	}
	path.Move(vg.Point{X: b.left, Y: b.bottom})
	path.Line(vg.Point{X: b.right, Y: b.bottom})
	path.Line(vg.Point{X: b.right, Y: b.top})
	path.Line(vg.Point{X: b.left, Y: b.top})
	path.Close()
}

// unplaced sums the counts in cells outside the scales.
func (g *Grid) unplaced(on *plane) (n float64) {
	for column, rows := range g.Counts {
		for row, count := range rows {
			if !on.x.has(g.X[column]) || !on.x.has(g.X[column+1]) || !on.y.has(g.Y[row]) || !on.y.has(g.Y[row+1]) {
				n += count
			}
		}
	}
	return n
}

// drawShades draws the shades side by side in b.
func drawShades(d pen, b box) {
	width := b.width() / heatShades
	for i := range heatShades {
		left := b.left + vg.Length(i)*width
		d.rectangle(shade(i), box{left, left + width, b.bottom, b.top})
	}
}

// shadesText explains the shades in the legend; "" if every cell is empty.
func (g *Grid) shadesText() string {
	least, most, ok := g.extent()
	switch {
	case !ok:
		return ""
	case least == most:
		return fmt.Sprintf("%s %s in a cell", valueText(most, ""), g.Of)
	}
	return fmt.Sprintf("%s to %s %s in a cell, darker is more", valueText(least, ""), valueText(most, ""), g.Of)
}
