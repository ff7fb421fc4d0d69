package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// pen draws on a canvas with its origin at the bottom left.
type pen struct{ vg.Canvas }

// stroke is a line style.
type stroke struct {
	color  color.RGBA
	width  vg.Length
	dashes []vg.Length
}

// box is a rectangle on the page.
type box struct{ left, right, bottom, top vg.Length }

func (b box) width() vg.Length  { return b.right - b.left }
func (b box) height() vg.Length { return b.top - b.bottom }

// align positions a text relative to its x: 0 starts there, 0.5 centres, 1 ends there.
type align = vg.Length

const (
	fromLeft  align = 0
	centred   align = 0.5
	fromRight align = 1
)

// text draws s with its baseline at y.
func (p pen) text(t typeface, x, y vg.Length, a align, s string) {
	s = printable(s)
	if s == "" {
		return
	}
	p.SetColor(t.color)
	p.FillString(t.face(), vg.Point{X: x - a*t.width(s), Y: y}, s)
}

// backed draws s on a white background, so that no line crosses it.
func (p pen) backed(t typeface, x, y vg.Length, s string) {
	p.rectangle(paper, box{x - 2, x + t.width(printable(s)) + 2, y - t.size*0.25, y + t.size*0.8})
	p.text(t, x, y, fromLeft, s)
}

// lines draws text lines, the first with its top at y, and returns the y below the last.
func (p pen) lines(t typeface, x, y vg.Length, a align, lines []string) vg.Length {
	for _, line := range lines {
		p.text(t, x, y-t.size*0.95, a, line)
		y -= t.height()
	}
	return y
}

// upward draws s reading upwards, centred on y, with its baseline at x.
func (p pen) upward(t typeface, x, y vg.Length, s string) {
	p.Push()
	p.Translate(vg.Point{X: x, Y: y})
	p.Rotate(math.Pi / 2)
	p.text(t, 0, 0, centred, s)
	p.Pop()
}

// line draws a line through the points.
func (p pen) line(s stroke, points ...vg.Point) {
	if len(points) < 2 {
		return
	}
	p.SetColor(s.color)
	p.SetLineWidth(s.width)
	p.SetLineDash(s.dashes, 0)
	p.Stroke(path(points))
}

// fill fills a polygon.
func (p pen) fill(c color.Color, points ...vg.Point) {
	if len(points) < 3 {
		return
	}
	p.SetColor(c)
	area := path(points)
	area.Close()
	p.Fill(area)
}

// rectangle fills b.
func (p pen) rectangle(c color.Color, b box) {
	p.fill(c, vg.Point{X: b.left, Y: b.bottom}, vg.Point{X: b.right, Y: b.bottom},
		vg.Point{X: b.right, Y: b.top}, vg.Point{X: b.left, Y: b.top})
}

// marker draws a marker with a thin white rim; it is hollow for an uncertain point.
func (p pen) marker(l look, r vg.Length, hollow bool, at vg.Point) {
	shape := markerPath(l.shape, r, at)
	p.SetLineDash(nil, 0)
	p.SetColor(paper)
	p.SetLineWidth(2)
	p.Stroke(shape)
	if !hollow {
		p.SetColor(l.color)
	}
	p.Fill(shape)
	if hollow {
		p.SetColor(l.color)
		p.SetLineWidth(1.2)
		p.Stroke(shape)
	}
}

func markerPath(shape int, r vg.Length, at vg.Point) vg.Path {
	corners := outline(shape, r)
	if corners == nil {
		var circle vg.Path
		circle.Move(vg.Point{X: at.X + r, Y: at.Y})
		circle.Arc(at, r, 0, 2*math.Pi)
		circle.Close()
		return circle
	}
	for i := range corners {
		corners[i] = corners[i].Add(at)
	}
	closed := path(corners)
	closed.Close()
	return closed
}

func path(points []vg.Point) vg.Path {
	p := make(vg.Path, 0, len(points)+1)
	p.Move(points[0])
	for _, at := range points[1:] {
		p.Line(at)
	}
	return p
}
