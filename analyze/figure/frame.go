package figure

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

// drawFrame draws the tick lines, the heat map on top of them, the labelled axes, and the steps.
func (p *page) drawFrame(d pen) {
	p.drawPlot(d, true)
	p.drawAxisTitles(d)
}

// drawPlot draws everything except the axis titles. With several panels, only the last one has
// labels on the horizontal axis.
func (p *page) drawPlot(d pen, last bool) {
	p.plot.drawGrey(d, p.Figure.Grey)
	if !p.empty {
		p.plot.drawVerticalTicks(d)
		p.plot.drawHorizontalTicks(d, p.plot.x, last)
	}
	if p.Kind == Heat {
		p.Grid.draw(d, &p.plot)
	}
	p.drawSteps(d)
	p.drawEvents(d)
	base := stroke{color: ink, width: 1}
	d.line(base, vg.Point{X: p.plot.left, Y: p.plot.bottom}, vg.Point{X: p.plot.right, Y: p.plot.bottom})
}

func (p *page) drawAxisTitles(d pen) {
	p.drawVerticalTitle(d, p.axisTitles[0])
	p.plot.drawHorizontalLabel(d, p.X)
}

// drawVerticalTitle draws the lines of a title from left to right, each centred on the plot.
func (p *page) drawVerticalTitle(d pen, lines []string) {
	middle := (p.plot.top + p.plot.bottom) / 2
	for i, line := range lines {
		d.upward(labelType, margin+labelType.size*0.8+vg.Length(i)*labelType.height(), middle, line)
	}
}

// Strips are drawn this high, and at least this long.
const stripHeight, leastStrip = vg.Length(4), vg.Length(1.5)

// drawGrey draws the stretches, clipped to the plot.
func (a *plane) drawGrey(d pen, all []Stretch) {
	for _, s := range all {
		if !a.x.has(s.From) || !a.x.has(s.To) {
			continue
		}
		area := box{max(a.horizontal(s.From), a.left), min(a.horizontal(s.To), a.right), a.bottom, a.top}
		color := ground
		if s.Tinted {
			color = tint
		}
		if s.Key != 0 {
			color, area = hue(s.Key), a.strip(s)
		}
		if area.left < area.right && area.bottom < area.top {
			d.rectangle(color, area)
		}
	}
}

// strip returns the area to fill for a stretch with a key. It is empty outside the plot.
func (a *plane) strip(s Stretch) box {
	left, right := a.horizontal(s.From), a.horizontal(s.To)
	bottom := a.bottom + vg.Length(s.Panel)*stripHeight
	return box{max(left, a.left), min(max(right, left+leastStrip), a.right), bottom, min(bottom+stripHeight, a.top)}
}

func (a *plane) drawHorizontalLabel(d pen, axis Axis) {
	_, rows := a.tickRows(a.x)
	y := a.bottom - 2*tickGap - vg.Length(max(rows, 1))*tickType.height() - labelType.size
	d.text(labelType, (a.left+a.right)/2, y, centred, axis.title())
}

func (a *plane) drawVerticalTicks(d pen) {
	for _, t := range a.y.ticks {
		if !a.y.inside(t.value) {
			continue
		}
		y := a.vertical(t.value)
		d.line(gridStroke(t), vg.Point{X: a.left, Y: y}, vg.Point{X: a.right, Y: y})
		d.text(tickType, a.left-tickGap, y-tickType.size*0.36, fromRight, t.label)
	}
}

// drawHorizontalTicks draws the tick lines, and their labels in one or two rows.
func (a *plane) drawHorizontalTicks(d pen, s scale, labelled bool) {
	rows, _ := a.tickRows(s)
	for i, t := range s.ticks {
		if !s.inside(t.value) {
			continue
		}
		x := a.left + vg.Length(s.at(t.value))*a.width()
		d.line(gridStroke(t), vg.Point{X: x, Y: a.bottom}, vg.Point{X: x, Y: a.top})
		if rows[i] < 0 || !labelled {
			continue
		}
		d.line(stroke{color: ink, width: 1}, vg.Point{X: x, Y: a.bottom}, vg.Point{X: x, Y: a.bottom - 4})
		d.text(tickType, x, a.bottom-tickGap-tickType.size-vg.Length(rows[i])*tickType.height(), centred, t.label)
	}
}

// mostTickRows limits the rows for tick labels.
const mostTickRows = 2

// tickRows places each tick label on a horizontal axis in the first row where it touches no other
// label, and returns the number of rows. The last tick is placed first, so it always has a label.
// Row -1 means no label: for fine ticks, and for labels without room.
func (a *plane) tickRows(s scale) (rows []int, used int) {
	rows = make([]int, len(s.ticks))
	type taken struct{ from, to vg.Length }
	all := [mostTickRows][]taken{}
	order := []int{}
	for i := range s.ticks {
		order = append(order, i)
	}
	if n := len(order); n > 1 {
		order = append([]int{n - 1}, order[:n-1]...)
	}
	for _, i := range order {
		t := s.ticks[i]
		rows[i] = -1
		if t.fine || !s.inside(t.value) {
			continue
		}
		x, half := a.left+vg.Length(s.at(t.value))*a.width(), tickType.width(t.label)/2
		own := taken{x - half - tickType.size*0.2, x + half + tickType.size*0.2}
		for row := range all {
			if !slices.ContainsFunc(all[row], func(o taken) bool { return own.from < o.to && o.from < own.to }) {
				all[row], rows[i], used = append(all[row], own), row, max(used, row+1)
				break
			}
		}
	}
	return rows, used
}

func gridStroke(t tick) stroke {
	if t.fine {
		return stroke{color: gridFine, width: 0.75}
	}
	return stroke{color: grid, width: 0.75}
}
