package figure

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

// stepRows limits the rows of labels for one database.
const stepRows = 3

func (s steps) height() vg.Length { return vg.Length(s.rows) * stepType.height() }

// placeSteps gives each label the lowest row with room.
func (p *page) placeSteps() steps {
	var placed steps
	for _, key := range stepKeys(p.Steps) {
		var free [stepRows]vg.Length
		used := 0
		for _, b := range p.Steps {
			if b.Key != key || p.Kind == Bars || !p.plot.x.inside(b.X) {
				continue
			}
			s := step{Boundary: b, at: p.plot.horizontal(b.X), row: -1}
			width := stepType.width(printable(b.Label))
			s.text = min(s.at, p.plot.right-width)
			for row := range free {
				if s.text >= free[row] {
					s.row = placed.rows + row
					free[row] = s.text + width + stepType.size
					used = max(used, row+1)
					break
				}
			}
			placed.all = append(placed.all, s)
		}
		placed.rows += used
	}
	return placed
}

func stepKeys(all []Boundary) []int {
	var keys []int
	for _, b := range all {
		keys = append(keys, b.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// drawSteps draws the labels above their lines, which extend up to the label rows.
func (p *page) drawSteps(d pen) {
	baseline := func(s step) vg.Length {
		return p.plot.top + vg.Length(s.row)*stepType.height() + stepType.size*0.35
	}
	for _, s := range p.steps.all {
		line := stroke{color: boundary, width: 0.9, dashes: []vg.Length{4, 3}}
		if s.Key > 0 {
			line.color = hue(s.Key)
		}
		top := p.plot.top
		if s.row >= 0 {
			top = baseline(s)
		}
		d.line(line, vg.Point{X: s.at, Y: p.plot.bottom}, vg.Point{X: s.at, Y: top})
	}
	for _, s := range p.steps.all {
		label := stepType
		if s.Key > 0 {
			label.color = dark(hue(s.Key))
		}
		if s.row >= 0 {
			d.backed(label, s.text, baseline(s), s.Label)
		}
	}
}
