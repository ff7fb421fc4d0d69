package figure

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

const (
	sampleGap = vg.Length(7)
	columnGap = vg.Length(20)
)

func (p *page) newLegend(width vg.Length) legend {
	var l legend
	room := width - sampleWidth(p.Kind) - sampleGap
	for i, s := range p.Series {
		name := s.Name
		if p.inline && s.Panel < len(p.Panels) {
			continue // named in the panel title
		}
		again := func(o Series) bool { return (p.PanelY != nil || o.Panel != s.Panel) && o.Name == s.Name }
		if name == "" || s.Hues != nil || slices.ContainsFunc(p.Series[:i], again) {
			continue
		}
		if !p.empty && !p.plot.drawable(p.Kind, s) {
			name += " (no data)"
		}
		e := entry{Series: s, kind: p.Kind, line: true, lines: legendType.wrap(name, room)}
		if s.Low != nil {
			e.band = veil(s.look().color)
		}
		l.entries = append(l.entries, e)
	}
	if p.Band != "" {
		l.entries = append(l.entries, entry{kind: p.Kind, band: veil(soft), lines: legendType.wrap(p.Band, room)})
	}
	if text := p.shadesText(); text != "" {
		l.entries = append(l.entries, entry{kind: p.Kind, shades: true, lines: legendType.wrap(text, room)})
	}
	l.entries = append(l.entries, p.eventEntries(room)...)
	l.arrange(width)
	return l
}

func (p *page) shadesText() string {
	if p.Kind != Heat {
		return ""
	}
	return p.Grid.shadesText()
}

// arrange chooses the most columns that fit.
func (l *legend) arrange(width vg.Length) {
	for columns := len(l.entries); columns > 0; columns-- {
		l.rows = (len(l.entries) + columns - 1) / columns
		// If possible, keep the statistics for a database in one column.
		if group := l.group(); group > 1 && l.rows < group {
			continue
		}
		l.lefts = nil
		var left vg.Length
		for first := 0; first < len(l.entries); first += l.rows {
			l.lefts = append(l.lefts, left)
			var widest vg.Length
			for _, e := range l.entries[first:min(first+l.rows, len(l.entries))] {
				widest = max(widest, legendType.widest(e.lines))
			}
			left += sampleWidth(l.entries[first].kind) + sampleGap + widest*spread + columnGap
		}
		if left-columnGap <= width {
			break
		}
	}
	for row := range l.rows {
		l.height += l.rowHeight(row)
	}
}

// group is the number of consecutive entries for each key; 0 if the numbers differ.
func (l *legend) group() int {
	size, run := 0, 0
	for i, e := range l.entries {
		run++
		if i+1 == len(l.entries) || !l.entries[i+1].sameRun(e.Series) {
			if e.line && size != 0 && size != run {
				return 0
			}
			if e.line {
				size = run
			}
			run = 0
		}
	}
	return size
}

func (l *legend) rowHeight(row int) vg.Length {
	lines := 1
	for i := row; i < len(l.entries); i += l.rows {
		lines = max(lines, len(l.entries[i].lines))
	}
	return vg.Length(lines)*legendType.height() + 2
}

// draw draws the legend with its top left corner at x, y.
func (l *legend) draw(d pen, x, y vg.Length) {
	for row := range l.rows {
		for i := row; i < len(l.entries); i += l.rows {
			e := l.entries[i]
			left := x + l.lefts[i/l.rows]
			e.sample(d, left, y-legendType.height()/2)
			d.lines(legendType, left+sampleWidth(e.kind)+sampleGap, y-1, fromLeft, e.lines)
		}
		y -= l.rowHeight(row)
	}
}

// sampleWidth is longer for lines, so that their dashes are visible.
func sampleWidth(k Kind) vg.Length {
	if k == Bars {
		return 20
	}
	return 40
}

// sample draws the line, band and marker for an entry, centred vertically at y.
func (e entry) sample(d pen, x, y vg.Length) {
	swatch := box{x, x + sampleWidth(e.kind), y - 6, y + 6}
	if e.band != nil {
		d.rectangle(e.band, swatch)
	}
	switch {
	case e.line && e.Boxes != nil:
		boxSample(d, e.look(), swatch)
	case e.line && e.kind == Bars:
		d.rectangle(e.look().color, swatch)
		barMarker(d, e.look(), swatch)
	case e.symbol > 0:
		d.symbol(e.symbol, soft, vg.Point{X: (swatch.left + swatch.right) / 2, Y: y})
	case e.shades:
		drawShades(d, swatch)
	case e.line && e.kind == Heat:
		d.line(e.stroke(0), vg.Point{X: swatch.left, Y: y}, vg.Point{X: swatch.right, Y: y})
	case e.line && e.Loose:
		d.marker(e.look(), looseRadius, false, vg.Point{X: (swatch.left + swatch.right) / 2, Y: y})
	case e.line:
		d.line(e.stroke(0), vg.Point{X: swatch.left, Y: y}, vg.Point{X: swatch.right, Y: y})
		d.marker(e.look(), markerRadius, false, vg.Point{X: (swatch.left + swatch.right) / 2, Y: y})
	}
}
