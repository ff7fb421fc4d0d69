package figure

import "gonum.org/v1/plot/vg"

// drawFrame draws the lines of the ticks, a heat map over them, the axes with
// their labels, and the steps.
func (p *page) drawFrame(d pen) {
	if !p.empty {
		p.drawVerticalTicks(d)
		p.drawHorizontalTicks(d, p.x)
	}
	if p.Kind == Heat {
		p.drawGrid(d)
	}
	p.drawSteps(d)
	base := stroke{color: ink, width: 1}
	d.line(base, vg.Point{X: p.plot.left, Y: p.plot.bottom}, vg.Point{X: p.plot.right, Y: p.plot.bottom})
	middle := (p.plot.top + p.plot.bottom) / 2
	d.upward(labelType, margin+labelType.size*0.8, middle, p.Y.title())
	p.drawHorizontalLabel(d, p.X)
}

func (p *page) drawHorizontalLabel(d pen, a Axis) {
	y := p.plot.bottom - 2*tickGap - tickType.height() - labelType.size
	d.text(labelType, (p.plot.left+p.plot.right)/2, y, centred, a.title())
}

func (p *page) drawVerticalTicks(d pen) {
	for _, t := range p.y.ticks {
		if !p.y.inside(t.value) {
			continue
		}
		y := p.vertical(t.value)
		d.line(gridStroke(t), vg.Point{X: p.plot.left, Y: y}, vg.Point{X: p.plot.right, Y: y})
		d.text(tickType, p.plot.left-tickGap, y-tickType.size*0.36, fromRight, t.label)
	}
}

// drawHorizontalTicks leaves out labels that would touch the one before.
func (p *page) drawHorizontalTicks(d pen, s scale) {
	free := vg.Length(0)
	for _, t := range s.ticks {
		if !s.inside(t.value) {
			continue
		}
		x := p.plot.left + vg.Length(s.at(t.value))*p.plot.width()
		d.line(gridStroke(t), vg.Point{X: x, Y: p.plot.bottom}, vg.Point{X: x, Y: p.plot.top})
		half := tickType.width(t.label) / 2
		if t.fine || x-half < free {
			continue
		}
		d.line(stroke{color: ink, width: 1}, vg.Point{X: x, Y: p.plot.bottom}, vg.Point{X: x, Y: p.plot.bottom - 4})
		d.text(tickType, x, p.plot.bottom-tickGap-tickType.size, centred, t.label)
		free = x + half + tickType.size*0.6
	}
}

func gridStroke(t tick) stroke {
	if t.fine {
		return stroke{color: gridFine, width: 0.75}
	}
	return stroke{color: grid, width: 0.75}
}
