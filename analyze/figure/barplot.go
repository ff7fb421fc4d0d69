package figure

import "gonum.org/v1/plot/vg"

func (b *bars) draw(d pen) {
	axis := b.plot
	axis.right -= b.room()
	if !b.empty {
		axis.drawHorizontalTicks(d, axis.y, true)
	}
	axis.drawHorizontalLabel(d, b.Y)
	p, group := b.plot, groupHeight(b.Figure)
	spare := p.height() - vg.Length(len(b.Categories))*group
	top := p.top - (spare+groupGap)/2
	for i, category := range b.Categories {
		lines := categoryType.wrap(category, categoryRoom)
		high := group - groupGap
		middle := top - high/2 + vg.Length(len(lines))*categoryType.height()/2
		d.lines(categoryType, margin+categoryWidth(b.Figure), middle, fromRight, lines)
		y := top - (high-vg.Length(len(b.Series))*(barHeight+barGap))/2
		for _, s := range b.Series {
			if s.Boxes != nil {
				b.drawBox(d, s, i, y-barGap/2)
			} else {
				if s.Hues != nil {
					s.Key, s.Variant = s.Hues[i].Key, s.Hues[i].Variant
				}
				b.drawBar(d, s, i, y-barGap/2)
			}
			y -= barHeight + barGap
		}
		top -= group
	}
	zero := b.across(b.zero())
	d.line(stroke{color: ink, width: 1}, vg.Point{X: zero, Y: p.bottom}, vg.Point{X: zero, Y: p.top})
}
