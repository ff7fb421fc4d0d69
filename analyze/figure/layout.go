package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
)

// layout places every block on the page. The caller must have checked the figure.
func layout(f Figure) page {
	f = keyed(f)
	p := page{width: pageWidth}
	if f.Kind == Bars {
		p.dots = f.details()
		p.plot = newPlane(f)
	}
	if f = f.withoutDetails(); f.Kind != Bars {
		p.plot = newPlane(f)
	}
	p.Figure = f
	p.empty = !slices.ContainsFunc(p.Series, func(s Series) bool { return p.plot.drawable(p.Kind, s) })
	if p.Kind == Heat {
		_, _, some := p.Grid.extent()
		p.empty = p.empty && !some
	}
	inner := (p.width - 2*margin) * spareWidth
	p.title = titleType.wrap(f.Title, inner)
	p.subtitle = subtitleType.wrap(f.Subtitle, inner)
	for _, note := range append(f.Notes[:len(f.Notes):len(f.Notes)], p.leftOut()...) {
		p.notes = append(p.notes, noteType.wrap(note, inner)...)
	}
	p.eventKinds, _ = p.kinds()
	for _, a := range p.verticalAxes() {
		var lines []string
		if title := strings.TrimSpace(printable(a.title())); title != "" {
			lines = []string{title}
		}
		p.axisTitles = append(p.axisTitles, lines)
	}
	p.place()
	if p.wrapAxisTitles() {
		p.place()
	}
	return p
}

// place positions the blocks around the plot, and the plot.
func (p *page) place() {
	inner := (p.width - 2*margin) * spareWidth
	p.plot.left = margin + p.leftOfPlot()
	p.plot.right = p.width - margin - p.overhang()
	p.inline = p.titlesHaveRoom()
	p.legend = p.newLegend(inner)
	if len(p.Panels) > 0 {
		p.panels = p.newPanels()
	} else {
		p.steps = p.placeSteps()
	}
	above := margin + p.legend.height + p.steps.height()
	above += vg.Length(len(p.title))*titleType.height() + vg.Length(len(p.subtitle))*subtitleType.height()
	above += gap
	if p.legend.height > 0 {
		above += 1.5 * gap
	}
	below := margin + p.belowPlot()
	if len(p.notes) > 0 {
		below += gap + vg.Length(len(p.notes))*noteType.height()
	}
	high := max(plotHeight, pageHeight-above-below, p.leastPlot)
	if p.Kind == Bars {
		high = barsHeight(p.Figure)
	}
	if len(p.panels) > 0 {
		high = p.stack(pageHeight - above - below)
	}
	p.height = vg.Length(math.Ceil(float64(above + high + below)))
	p.plot.top = p.height - above
	p.plot.bottom = p.plot.top - high
	if len(p.panels) > 0 {
		p.placePanels()
	}
}

// verticalAxes are the axes whose titles are left of the plot.
func (p *page) verticalAxes() []Axis {
	switch {
	case p.Kind == Bars:
		return nil
	case len(p.PanelY) > 0:
		return p.PanelY
	}
	return []Axis{p.Y}
}

// Titles on vertical axes have at most mostTitleLines lines, and make plots at most mostTitleHeight
// high. That is enough for 300 letters.
const (
	mostTitleLines  = 3
	mostTitleHeight = 4 * plotHeight
	mostTitleBytes  = 1000 // that are looked at
)

// wrapAxisTitles wraps titles on vertical axes that are longer than their plots are high, and
// reports whether there are any. A title that would need many lines makes its plot higher instead.
func (p *page) wrapAxisTitles() bool {
	wrapped := false
	for i, lines := range p.axisTitles {
		high := p.plot.height()
		if len(p.PanelY) > 0 {
			high = p.panels[i].plot.height()
		}
		if width := labelType.widest(lines); width > high {
			title := strings.ToValidUTF8(lines[0][:min(len(lines[0]), mostTitleBytes)], "")
			lines = labelType.wrap(title, max(high, min(width/2, mostTitleHeight)))
			p.axisTitles[i], wrapped = lines[:min(len(lines), mostTitleLines)], true
		}
	}
	if !wrapped {
		return false
	}
	for _, lines := range p.axisTitles {
		p.leastPlot = max(p.leastPlot, labelType.widest(lines))
	}
	return true
}

// black is the key for series in heat maps.
const black = 7

// keyed assigns keys to all series, and x positions to the series in a heat map.
func keyed(f Figure) Figure {
	all := make([]Series, len(f.Series))
	copy(all, f.Series)
	for i := range all {
		if all[i].Key == 0 {
			all[i].Key = i + 1
		}
		if f.Kind == Heat {
			all[i].Key, all[i].X = black, make([]float64, len(all[i].Y))
			for column := range all[i].X {
				all[i].X[column] = f.Grid.middle(column)
			}
		}
	}
	f.Series = all
	return f
}

// leftOut returns notes that count the values outside a scale: a figure must not drop data
// silently.
func (p *page) leftOut() []string {
	var x, y int
	for _, s := range p.Series {
		for i := range s.Y {
			switch {
			case p.Kind != Bars && !math.IsNaN(s.X[i]) && !p.plot.x.has(s.X[i]):
				x++
			case !math.IsNaN(s.Y[i]) && !p.plot.y.has(s.Y[i]):
				y++
			}
		}
	}
	var notes []string
	if p.Kind == Heat {
		if n := p.Grid.unplaced(&p.plot); n > 0 {
			notes = append(notes, fmt.Sprintf("Not drawn, because they lie outside the scales: %s of the %s.", valueText(n, ""), p.Grid.Of))
		}
	}
	for _, axis := range []struct {
		count int
		name  string
	}{{x, p.X.title()}, {y, p.Y.title()}} {
		if axis.count > 0 {
			notes = append(notes, fmt.Sprintf("Not drawn, because they lie outside the scale of %s: %d of the points.", axis.name, axis.count))
		}
	}
	return notes
}

// leftOfPlot is the room for labels left of the plot.
func (p *page) leftOfPlot() vg.Length {
	if p.Kind == Bars {
		return categoryWidth(p.Figure)*spread + 2*tickGap
	}
	texts := labels(p.plot.y.ticks)
	for i := range p.PanelY {
		texts = append(texts, labels(newPlane(p.ofPanel(i)).y.ticks)...)
	}
	room := tickType.widest(texts) + tickGap
	lines := 0
	for _, title := range p.axisTitles {
		lines = max(lines, len(title))
	}
	if lines > 0 {
		room += vg.Length(lines)*labelType.height() + tickGap
	}
	return room
}

// overhang limits how far the last label on the horizontal axis extends beyond the plot.
func (p *page) overhang() vg.Length {
	room := vg.Length(8)
	for _, t := range p.plot.x.ticks {
		if p.plot.x.inside(t.value) && p.plot.x.at(t.value) > 0.97 {
			room = max(room, tickType.width(t.label)/2)
		}
	}
	return room
}

// belowPlot is the room for the horizontal axis.
func (p *page) belowPlot() vg.Length {
	horizontal, rows := p.X, 1
	if p.Kind == Bars {
		horizontal = p.Y
	} else {
		_, rows = p.plot.tickRows(p.plot.x)
	}
	room := vg.Length(max(rows, 1))*tickType.height() + tickGap
	if horizontal.title() != "" {
		room += labelType.height() + tickGap
	}
	return room
}

func labels(ticks []tick) []string {
	var texts []string
	for _, t := range ticks {
		texts = append(texts, t.label)
	}
	return texts
}
