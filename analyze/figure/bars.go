package figure

import (
	"gonum.org/v1/plot/vg"
)

const (
	barHeight = vg.Length(19)
	barGap    = vg.Length(3)  // between bars in a group
	groupGap  = vg.Length(20) // between groups
	// categoryRoom limits the width of category names.
	categoryRoom = vg.Length(150)
	// valueRoom is the space right of the longest bar, for its value.
	valueRoom = vg.Length(70)
)

var categoryType = typeface{size: 13, color: ink}

// bars is the plot for a figure whose kind is Bars.
type bars struct {
	Figure
	plot  plane
	dots  []Series
	empty bool // no bar has a value
}

// groupHeight is the height of a category with its gap, the same for all.
func groupHeight(f Figure) vg.Length {
	bars := vg.Length(len(f.Series)) * (barHeight + barGap)
	for _, category := range f.Categories {
		lines := categoryType.wrap(category, categoryRoom)
		bars = max(bars, vg.Length(len(lines))*categoryType.height())
	}
	return bars + groupGap
}

func barsHeight(f Figure) vg.Length {
	return max(vg.Inch, vg.Length(len(f.Categories))*groupHeight(f))
}

func categoryWidth(f Figure) vg.Length {
	var widest vg.Length
	for _, category := range f.Categories {
		widest = max(widest, categoryType.widest(categoryType.wrap(category, categoryRoom)))
	}
	return widest
}

// room is the space right of the longest bar.
func (b *bars) room() vg.Length {
	if b.boxed() {
		return boxRoom
	}
	return valueRoom
}

// across returns where a bar with value v ends, in points from the left edge of the page.
func (b *bars) across(v float64) vg.Length {
	return b.plot.left + vg.Length(b.plot.y.at(v))*(b.plot.width()-b.room())
}

// zero returns the value at which bars begin: 0, or the nearest end of the scale.
func (b *bars) zero() float64 { return min(max(0, b.plot.y.min), b.plot.y.max) }

// drawBar draws the bar for a category with its top at y, and its value.
func (b *bars) drawBar(d pen, s Series, category int, y vg.Length) {
	v := s.Y[category]
	value := typeface{size: 12.5, color: dark(s.look().color)}
	baseline := y - barHeight/2 - value.size*0.36
	start := b.across(b.zero())
	if !b.plot.y.has(v) {
		if !b.empty {
			text := "no data"
			if finite(v) {
				text = valueText(v, b.Y.Unit)
			}
			d.backed(value, start+tickGap, baseline, text)
		}
		return
	}
	end := b.across(min(max(v, b.plot.y.min), b.plot.y.max))
	bar := box{min(start, end), max(start, end), y - barHeight, y}
	d.rectangle(s.look().color, bar)
	if s.Hues != nil && len(b.dots) > 0 {
		// Values in a separate column are not mistaken for the label of a dot.
		b.drawDots(d, s, category, (bar.bottom+bar.top)/2)
		text := valueText(v, b.Y.Unit)
		d.backed(value, b.plot.right-value.width(text), baseline, text)
		return
	}
	if s.Hues == nil && bar.width() > barHeight {
		barMarker(d, s.look(), bar)
	}
	text, x := valueText(v, b.Y.Unit), bar.right+tickGap
	if end < start {
		x = bar.left - tickGap - value.width(text)
	}
	d.backed(value, x, baseline, text)
}

// drawDots draws the details of a category as dots on its bar.
func (b *bars) drawDots(d pen, s Series, category int, middle vg.Length) {
	for _, dot := range b.dots {
		if v := dot.Y[category]; b.plot.y.has(v) {
			at := b.across(min(max(v, b.plot.y.min), b.plot.y.max))
			l := s.look()
			l.shape, l.color = 1, dark(l.color)
			d.marker(l, looseRadius, true, vg.Point{X: at, Y: middle})
		}
	}
}

// barMarker draws a white marker inside the left end of a bar.
func barMarker(d pen, l look, bar box) {
	d.SetColor(paper)
	d.Fill(markerPath(l.shape, markerRadius, vg.Point{X: bar.left + 10, Y: (bar.bottom + bar.top) / 2}))
}

// boxRoom is the space right of the longest whisker, for the values.
const boxRoom = vg.Length(120)

// boxed reports whether a Bars figure has boxes.
func (f Figure) boxed() bool {
	for _, s := range f.Series {
		if s.Boxes != nil {
			return true
		}
	}
	return false
}
