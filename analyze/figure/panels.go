package figure

import (
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
)

const (
	// panelHeight is the least height for the plot in a panel.
	panelHeight = vg.Length(88)
	panelGap    = vg.Length(12)
)

var panelType = typeface{size: 13, bold: true, color: ink}

// newPanels makes a page for each panel, with the scales and sides of p.
func (p *page) newPanels() (all []page) {
	for i := range p.Panels {
		one := *p
		one.Figure, one.panels = p.ofPanel(i), nil
		one.steps = one.placeSteps()
		if p.PanelY != nil {
			one.plot.y = newPlane(one.Figure).y
		}
		all = append(all, one)
	}
	return all
}

// ofPanel returns the part of the figure in one panel.
func (f Figure) ofPanel(i int) Figure {
	one := f
	if f.PanelY != nil {
		one.Y = f.PanelY[i]
	}
	one.Panels, one.PanelY = nil, nil
	one.Series = slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.Panel != i })
	one.Steps = slices.DeleteFunc(slices.Clone(f.Steps), func(b Boundary) bool { return b.Panel != i })
	one.Grey = slices.DeleteFunc(slices.Clone(f.Grey), func(s Stretch) bool { return s.Panel != i })
	for n := range one.Grey {
		one.Grey[n].Panel = 0
	}
	one.Events = slices.DeleteFunc(slices.Clone(f.Events), func(e Event) bool { return e.Panel != i })
	return one
}

// abovePanel is the room above the plot in a panel.
func (p *page) abovePanel() vg.Length { return panelType.height() + p.steps.height() + panelGap }

// stack stacks equally high panels from the top of the plot, and returns their total height.
func (p *page) stack(room vg.Length) vg.Length {
	var above vg.Length
	for i := range p.panels {
		above += p.panels[i].abovePanel()
	}
	n := vg.Length(len(p.panels))
	each := max(panelHeight, (room-above)/n)
	if len(p.PanelY) > 0 {
		each = max(each, p.leastPlot)
	}
	return max(above+each*n, p.leastPlot)
}

// placePanels positions each panel between the top and bottom of the plot.
func (p *page) placePanels() {
	var above vg.Length
	for i := range p.panels {
		above += p.panels[i].abovePanel()
	}
	each := (p.plot.height() - above) / vg.Length(len(p.panels))
	top := p.plot.top
	for i := range p.panels {
		one := &p.panels[i]
		one.height = p.height
		one.plot.top = top - one.abovePanel()
		one.plot.bottom = one.plot.top - each
		top = one.plot.bottom
	}
}

// drawPanels draws all panels, and the axes around them.
func (p *page) drawPanels(d pen) {
	for i := range p.panels {
		one := &p.panels[i]
		one.drawPlot(d, i == len(p.panels)-1)
		c := curves{Figure: one.Figure, plot: one.plot}
		c.draw(d)
		p.drawPanelTitle(d, i)
		if p.PanelY != nil {
			one.drawVerticalTitle(d, p.axisTitles[i])
		}
	}
	if p.PanelY == nil {
		p.drawVerticalTitle(d, p.axisTitles[0])
	}
	p.plot.drawHorizontalLabel(d, p.X)
}

// rest is the name of a series without the panel title.
func (p *page) rest(s Series) string {
	return strings.TrimPrefix(strings.TrimPrefix(s.Name, p.Panels[s.Panel]), ", ")
}

// panelSample is the width of a line sample next to the panel title.
const panelSample = vg.Length(24)

// titlesHaveRoom reports whether the panel titles have room for series names, so that the legend
// can omit them. A panel with one series needs no name.
func (p *page) titlesHaveRoom() bool {
	if len(p.Panels) == 0 || p.PanelY != nil {
		return false
	}
	for i, title := range p.Panels {
		width := panelType.width(printable(title)) * spread
		for _, s := range p.Series {
			if s.Panel != i {
				continue
			}
			if !strings.HasPrefix(s.Name, title) {
				return false
			}
			if rest := p.rest(s); rest != "" {
				width += panelGap + panelSample + sampleGap + legendType.width(printable(rest))*spread
			}
		}
		if width > p.plot.right-p.plot.left {
			return false
		}
	}
	return true
}

// drawPanelTitle draws the title of a panel, followed by series names unless the legend has them.
func (p *page) drawPanelTitle(d pen, i int) {
	one := &p.panels[i]
	x, y := one.plot.left, one.plot.top+one.steps.height()+panelType.size*0.45
	d.text(panelType, x, y, fromLeft, p.Panels[i])
	if !p.inline {
		return
	}
	x += panelType.width(printable(p.Panels[i])) * spread
	for _, s := range p.Series {
		if s.Panel != i || p.rest(s) == "" {
			continue
		}
		x += panelGap
		middle := y + legendType.size*0.36
		if !s.Loose {
			d.line(s.stroke(0), vg.Point{X: x, Y: middle}, vg.Point{X: x + panelSample, Y: middle})
		}
		d.marker(s.look(), markerRadius, false, vg.Point{X: x + panelSample/2, Y: middle})
		x += panelSample + sampleGap
		name := p.rest(s)
		d.text(legendType, x, y, fromLeft, name)
		x += legendType.width(printable(name)) * spread
	}
}
