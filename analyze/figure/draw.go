package figure

import "gonum.org/v1/plot/vg"

// draw draws the whole page on a white canvas.
func (p *page) draw(canvas vg.Canvas) {
	d := pen{canvas}
	y := d.lines(titleType, margin, p.height-margin, fromLeft, p.title)
	y = d.lines(subtitleType, margin, y, fromLeft, p.subtitle)
	p.legend.draw(d, margin, y-gap)
	if p.Kind == Bars {
		b := bars{Figure: p.Figure, plot: p.plot, dots: p.dots, empty: p.empty}
		b.draw(d)
	} else if len(p.panels) > 0 {
		p.drawPanels(d)
	} else {
		p.drawFrame(d)
		c := curves{Figure: p.Figure, plot: p.plot}
		c.draw(d)
	}
	if p.empty {
		d.text(emptyType, (p.plot.left+p.plot.right)/2, (p.plot.top+p.plot.bottom)/2, centred, "no data")
	}
	if len(p.notes) > 0 {
		d.lines(noteType, margin, margin+vg.Length(len(p.notes))*noteType.height(), fromLeft, p.notes)
	}
}
