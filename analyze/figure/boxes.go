package figure

import (
	"gonum.org/v1/plot/vg"
)

// drawBox draws a whisker between the bounds, a box between the quartiles, a thick line at the
// median and a thin line at the 99th percentile, with its top at y.
func (b *bars) drawBox(d pen, s Series, i int, y vg.Length) {
	box1, median := s.Boxes[i], s.Y[i]
	value := typeface{size: 12.5, color: dark(s.look().color)}
	middle := y - barHeight/2
	baseline := middle - value.size*0.36
	if !b.plot.y.has(median) || !b.plot.y.has(box1.Low) || !b.plot.y.has(box1.High) {
		if !b.empty {
			d.backed(value, b.plot.left+tickGap, baseline, "no data")
		}
		return
	}
	at := func(v float64) vg.Length { return b.across(min(max(v, b.plot.y.min), b.plot.y.max)) }
	color := s.look().color
	upright := func(v float64, width, half vg.Length) {
		if b.plot.y.has(v) {
			d.line(stroke{color: color, width: width}, vg.Point{X: at(v), Y: middle - half}, vg.Point{X: at(v), Y: middle + half})
		}
	}
	low, high := box1.Low, box1.High
	if b.plot.y.has(box1.Least) {
		low = box1.Least
	}
	if b.plot.y.has(box1.Most) {
		high = box1.Most
	}
	d.line(stroke{color: color, width: 1.2}, vg.Point{X: at(low), Y: middle}, vg.Point{X: at(high), Y: middle})
	upright(box1.Least, 1.2, barHeight/5)
	upright(box1.Most, 1.2, barHeight/5)
	outer := box{at(box1.Low), max(at(box1.High), at(box1.Low)+2), y - barHeight, y}
	d.rectangle(color, outer)
	const rim = vg.Length(1.3)
	d.rectangle(mixed(color, paper, 0.72), box{outer.left + rim, max(outer.right-rim, outer.left+rim), outer.bottom + rim, outer.top - rim})
	upright(median, 3, barHeight/2)
	upright(box1.P99, 1.2, barHeight/2.6)
	text := valueText(median, b.Y.Unit)
	if b.plot.y.has(box1.P99) {
		text += ", p99 " + valueText(box1.P99, b.Y.Unit)
	}
	d.backed(value, max(at(high), at(median))+tickGap, baseline, text)
}

// boxSample draws a box for the legend.
func boxSample(d pen, l look, swatch box) {
	middle := (swatch.bottom + swatch.top) / 2
	d.line(stroke{color: l.color, width: 1.2}, vg.Point{X: swatch.left, Y: middle}, vg.Point{X: swatch.right, Y: middle})
	inner := box{swatch.left + 3, swatch.right - 3, swatch.bottom, swatch.top}
	d.rectangle(l.color, inner)
	d.rectangle(mixed(l.color, paper, 0.72), box{inner.left + 1.3, inner.right - 1.3, inner.bottom + 1.3, inner.top - 1.3})
	d.line(stroke{color: l.color, width: 3}, vg.Point{X: (swatch.left + swatch.right) / 2, Y: swatch.bottom}, vg.Point{X: (swatch.left + swatch.right) / 2, Y: swatch.top})
}
