package figure

import (
	"gonum.org/v1/plot/vg"
)

const (
	barHeight = vg.Length(19)
	barGap    = vg.Length(3)  // between bars of a group
	groupGap  = vg.Length(20) // between groups
	// categoryRoom is the most room that the names of categories take.
	categoryRoom = vg.Length(230)
	// valueRoom is left beyond the longest bar for its value.
	valueRoom = vg.Length(70)
)

var categoryType = typeface{size: 13, color: ink}

func (p *page) groupHeight() vg.Length {
	bars := vg.Length(len(p.Series)) * (barHeight + barGap)
	for _, category := range p.Categories {
		lines := categoryType.wrap(category, categoryRoom)
		bars = max(bars, vg.Length(len(lines))*categoryType.height())
	}
	return bars + groupGap
}

func (p *page) barsHeight() vg.Length {
	return max(vg.Inch, vg.Length(len(p.Categories))*p.groupHeight())
}

func (p *page) categoryWidth() vg.Length {
	var widest vg.Length
	for _, category := range p.Categories {
		widest = max(widest, categoryType.widest(categoryType.wrap(category, categoryRoom)))
	}
	return widest
}

// across is where the value v ends on the horizontal axis of bars.
func (p *page) across(v float64) vg.Length {
	return p.plot.left + vg.Length(p.y.at(v))*(p.plot.width()-valueRoom)
}

func (p *page) drawBars(d pen) {
	full := p.plot
	p.plot.right -= valueRoom
	if !p.empty {
		p.drawHorizontalTicks(d, p.y)
	}
	p.drawHorizontalLabel(d, p.Y)
	p.plot = full
	spare := p.plot.height() - vg.Length(len(p.Categories))*p.groupHeight()
	top := p.plot.top - (spare+groupGap)/2
	for i, category := range p.Categories {
		lines := categoryType.wrap(category, categoryRoom)
		high := p.groupHeight() - groupGap
		middle := top - high/2 + vg.Length(len(lines))*categoryType.height()/2
		d.lines(categoryType, margin+p.categoryWidth(), middle, fromRight, lines)
		y := top - (high-vg.Length(len(p.Series))*(barHeight+barGap))/2
		for _, s := range p.Series {
			p.drawBar(d, s, s.Y[i], y-barGap/2)
			y -= barHeight + barGap
		}
		top -= p.groupHeight()
	}
	zero := p.across(p.zero())
	d.line(stroke{color: ink, width: 1}, vg.Point{X: zero, Y: p.plot.bottom}, vg.Point{X: zero, Y: p.plot.top})
}

// zero is where bars begin.
func (p *page) zero() float64 { return min(max(0, p.y.min), p.y.max) }

// drawBar draws one bar with its top at y, and its value.
func (p *page) drawBar(d pen, s Series, v float64, y vg.Length) {
	value := typeface{size: 12.5, color: dark(hue(s.Key))}
	baseline := y - barHeight/2 - value.size*0.36
	start := p.across(p.zero())
	if !p.y.has(v) {
		if !p.empty {
			text := "no data"
			if finite(v) {
				text = valueText(v, p.Y.Unit)
			}
			d.backed(value, start+tickGap, baseline, text)
		}
		return
	}
	end := p.across(min(max(v, p.y.min), p.y.max))
	bar := box{min(start, end), max(start, end), y - barHeight, y}
	d.rectangle(hue(s.Key), bar)
	if bar.width() > barHeight {
		barMarker(d, s.Key, bar)
	}
	text, x := valueText(v, p.Y.Unit), bar.right+tickGap
	if end < start {
		x = bar.left - tickGap - value.width(text)
	}
	d.backed(value, x, baseline, text)
}

// barMarker draws the key's marker in white inside the left end of a bar.
func barMarker(d pen, key int, bar box) {
	d.SetColor(paper)
	d.Fill(markerPath(key, markerRadius, vg.Point{X: bar.left + 10, Y: (bar.bottom + bar.top) / 2}))
}
