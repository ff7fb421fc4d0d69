package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// The size of a page in points, 1/72 inch. A page with much text is higher.
const (
	pageWidth  = 12 * vg.Inch
	pageHeight = 7 * vg.Inch
	plotHeight = 4 * vg.Inch // at least
	margin     = vg.Length(22)
	gap        = vg.Length(9) // between blocks
	tickGap    = vg.Length(6) // between an axis and its labels
	// spareWidth is the part of the page that text is wrapped to, and spread the
	// room for it beside other things: a program that shows an SVG without any of
	// the fonts it asks for may take a wider one.
	spareWidth = 0.86
	spread     = 1.12
)

// The type of a figure.
var (
	titleType    = typeface{size: 19, bold: true, color: ink}
	subtitleType = typeface{size: 14, color: soft}
	legendType   = typeface{size: 13, color: ink}
	labelType    = typeface{size: 13.5, color: ink}
	tickType     = typeface{size: 13, color: ink}
	stepType     = typeface{size: 11.5, color: soft}
	noteType     = typeface{size: 11, color: soft}
	emptyType    = typeface{size: 24, color: boundary}
)

// page is a figure laid out: the text of each block and where the plot stands.
type page struct {
	Figure
	width, height   vg.Length
	title, subtitle []string
	notes           []string
	legend          legend
	steps           steps
	x, y            scale
	// plot is the area inside the axes.
	plot box
	// stepTop is where the labels of steps begin, above the plot.
	stepTop vg.Length
	// empty says that there is nothing to draw.
	empty bool
}

// layout decides where everything goes. The figure has been checked.
func layout(f Figure) page {
	f = keyed(f)
	p := page{Figure: f, width: pageWidth}
	p.scales()
	inner := (p.width - 2*margin) * spareWidth
	p.title = titleType.wrap(f.Title, inner)
	p.subtitle = subtitleType.wrap(f.Subtitle, inner)
	for _, note := range append(f.Notes[:len(f.Notes):len(f.Notes)], p.leftOut()...) {
		p.notes = append(p.notes, noteType.wrap(note, inner)...)
	}
	p.legend = p.newLegend(inner)

	p.plot.left = margin + p.leftOfPlot()
	p.plot.right = p.width - margin - p.overhang()
	p.steps = p.placeSteps()
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
	high := max(plotHeight, pageHeight-above-below)
	if f.Kind == Bars {
		high = p.barsHeight()
	}
	p.height = vg.Length(math.Ceil(float64(above + high + below)))
	p.plot.top = p.height - above
	p.plot.bottom = p.plot.top - high
	p.stepTop = p.plot.top + p.steps.height()
	return p
}

// black is the key whose hue is black.
const black = 7

// keyed gives every series its key, and those of a heat map their places.
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

// scales makes both scales from the data.
func (p *page) scales() {
	var xs, ys []float64
	for _, s := range p.Series {
		xs = append(xs, s.X...)
		ys = append(ys, s.Y...)
		ys = append(ys, s.Low...)
		ys = append(ys, s.High...)
	}
	if p.Kind == Heat {
		xs, ys = p.Grid.X, append(ys, p.Grid.occupied()...)
	}
	p.y = valueScale(p.Y, ys, 6)
	switch {
	case p.Kind == Bars:
		p.x = scale{min: 0, max: 1, warp: identity, has: finite}
	case p.Kind == Percentiles:
		p.x = percentileScale(p.X, xs)
	case p.Kind == Points:
		p.x = pointScale(p.X, xs, 9)
	case p.X.Log:
		p.x = logScale(p.X, xs)
	default:
		p.x = rangeScale(p.X, xs, 9)
	}
	p.empty = !slices.ContainsFunc(p.Series, p.drawable)
	if p.Kind == Heat {
		_, _, some := p.Grid.extent()
		p.empty = p.empty && !some
	}
}

// drawable tells a series with a point that has a place on both scales.
func (p *page) drawable(s Series) bool {
	for i := range s.Y {
		if p.y.has(s.Y[i]) && (p.Kind == Bars || p.x.has(s.X[i])) {
			return true
		}
	}
	return false
}

// leftOut says in a note which values have no place on a scale, since a figure
// must not drop data silently.
func (p *page) leftOut() []string {
	var x, y int
	for _, s := range p.Series {
		for i := range s.Y {
			switch {
			case p.Kind != Bars && !math.IsNaN(s.X[i]) && !p.x.has(s.X[i]):
				x++
			case !math.IsNaN(s.Y[i]) && !p.y.has(s.Y[i]):
				y++
			}
		}
	}
	var notes []string
	if p.Kind == Heat {
		if n := p.unplaced(); n > 0 {
			notes = append(notes, fmt.Sprintf("Not drawn, having no place on the scales: %s of the %s.", valueText(n, ""), p.Grid.Of))
		}
	}
	for _, axis := range []struct {
		count int
		name  string
	}{{x, p.X.title()}, {y, p.Y.title()}} {
		if axis.count > 0 {
			notes = append(notes, fmt.Sprintf("Not drawn, having no place on the scale of %s: %d of the points.", axis.name, axis.count))
		}
	}
	return notes
}

// leftOfPlot is the room for what stands left of the plot.
func (p *page) leftOfPlot() vg.Length {
	if p.Kind == Bars {
		return p.categoryWidth()*spread + 2*tickGap
	}
	room := tickType.widest(labels(p.y.ticks)) + tickGap
	if p.Y.title() != "" {
		room += labelType.height() + tickGap
	}
	return room
}

// overhang is how far the last label of the horizontal axis may reach beyond
// the plot.
func (p *page) overhang() vg.Length {
	room := vg.Length(8)
	for _, t := range p.x.ticks {
		if p.x.inside(t.value) && p.x.at(t.value) > 0.97 {
			room = max(room, tickType.width(t.label)/2)
		}
	}
	return room
}

// belowPlot is the room for the horizontal axis.
func (p *page) belowPlot() vg.Length {
	room := tickType.height() + tickGap
	horizontal := p.X
	if p.Kind == Bars {
		horizontal = p.Y
	}
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

// horizontal and vertical are places on the page.
func (p *page) horizontal(x float64) vg.Length {
	return p.plot.left + vg.Length(p.x.at(x))*p.plot.width()
}

func (p *page) vertical(y float64) vg.Length {
	return p.plot.bottom + vg.Length(p.y.at(y))*p.plot.height()
}

// draw draws the whole page on a white canvas.
func (p *page) draw(canvas vg.Canvas) {
	d := pen{canvas}
	y := d.lines(titleType, margin, p.height-margin, fromLeft, p.title)
	y = d.lines(subtitleType, margin, y, fromLeft, p.subtitle)
	p.legend.draw(d, margin, y-gap)
	if p.Kind == Bars {
		p.drawBars(d)
	} else {
		p.drawFrame(d)
		p.drawSeries(d)
	}
	if p.empty {
		d.text(emptyType, (p.plot.left+p.plot.right)/2, (p.plot.top+p.plot.bottom)/2, centred, "no data")
	}
	if len(p.notes) > 0 {
		d.lines(noteType, margin, margin+vg.Length(len(p.notes))*noteType.height(), fromLeft, p.notes)
	}
}
