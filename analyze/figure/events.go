package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
)

// eventRadius is the size of event symbols, which are drawn at the top of the plot.
const eventRadius = vg.Length(3.2)

// kinds returns the kinds of the visible events in order, with their numbers.
func (p *page) kinds() (names []string, counts map[string]float64) {
	counts = map[string]float64{}
	for _, e := range p.Events {
		if p.Kind == Bars || !p.plot.x.inside(e.X) {
			continue
		}
		if counts[e.Kind] == 0 {
			names = append(names, e.Kind)
		}
		counts[e.Kind] += cmp.Or(e.N, 1)
	}
	return names, counts
}

// eventEntries are the legend lines for event kinds.
func (p *page) eventEntries(room vg.Length) (all []entry) {
	names, counts := p.kinds()
	for i, name := range names {
		all = append(all, entry{kind: p.Kind, symbol: i + 1, lines: legendType.wrap(fmt.Sprintf("%s (%s)", name, valueText(counts[name], "")), room)})
	}
	return all
}

// mostEventLines limits the events with lines: more would hide the data.
const mostEventLines = 120

// drawEvents draws a symbol for each event, and unless there are many a thin line. Events with the
// same kind and colour that would touch are drawn once.
func (p *page) drawEvents(d pen) {
	names := p.eventKinds
	type lane struct{ kind, key int }
	free := map[lane]vg.Length{}
	type mark struct {
		kind int
		key  int
		at   vg.Length
	}
	var marks []mark
	for _, e := range p.Events {
		kind := slices.Index(names, e.Kind)
		if kind < 0 || !p.plot.x.inside(e.X) {
			continue
		}
		at, of := p.plot.horizontal(e.X), lane{kind, e.Key}
		if last, drawn := free[of]; drawn && at < last {
			continue
		}
		free[of] = at + 1.2*eventRadius
		marks = append(marks, mark{kind, e.Key, at})
	}
	// Grouping equal looks makes files small.
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Or(a.key-b.key, a.kind-b.kind) })
	if len(marks) <= mostEventLines {
		for _, m := range marks {
			d.line(stroke{color: mixed(eventColor(m.key), paper, 0.45), width: 0.7}, vg.Point{X: m.at, Y: p.plot.bottom}, vg.Point{X: m.at, Y: p.plot.top})
		}
	}
	for _, m := range marks {
		// Each kind has its own height, so that simultaneous symbols remain visible.
		d.symbol(m.kind+1, eventColor(m.key), vg.Point{X: m.at, Y: p.plot.top - eventRadius - vg.Length(m.kind)*2.4*eventRadius})
	}
}

func eventColor(key int) color.RGBA {
	if key == 0 {
		return soft
	}
	return hue(key)
}

// symbol draws the symbol for the n-th event kind. It is hollow, unlike a marker.
func (p pen) symbol(n int, c color.RGBA, at vg.Point) {
	shape := markerPath(n+2, eventRadius, at) // the first is a triangle
	p.SetLineDash(nil, 0)
	p.SetColor(paper)
	p.Fill(shape)
	p.SetColor(c)
	p.SetLineWidth(1.1)
	p.Stroke(shape)
}
