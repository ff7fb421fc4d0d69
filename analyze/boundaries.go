package analyze

import (
	"fmt"
	"math"

	"github.com/coreos/dbtester/analyze/figure"
)

// boundaries are where a load of several steps went on to the next, on the time
// axis of its figures.
func (c *column) boundaries() (out []figure.Boundary) {
	if c.classic {
		return c.classicBoundaries()
	}
	for i, s := range c.run.Steps {
		if s.Start.IsZero() || len(c.run.Steps) < 2 {
			continue
		}
		label := c.stepLabel(s)
		if !c.stepped() && !c.steppedRates() {
			label = fmt.Sprintf("step %d", i+1)
		}
		out = append(out, figure.Boundary{X: float64(s.Start.Unix() - c.loadStart()), Label: label})
	}
	return out
}

// classicBoundaries are where the number of clients changed.
func (c *column) classicBoundaries() (out []figure.Boundary) {
	if !c.stepped() {
		return nil
	}
	before := -1
	for _, s := range c.perSecond() {
		if s.clients != before {
			out = append(out, figure.Boundary{X: float64(s.unix - c.loadStart()), Label: clientsText(s.clients)})
		}
		before = s.clients
	}
	return out
}

// mostBoundaries is how many boundaries of several databases a figure can take.
const mostBoundaries = 9

// boundaries are those of all columns: once if they share them to the second, in
// each one's colour if they are few, else none.
func (d *document) boundaries() []figure.Boundary {
	first := d.columns[0].boundaries()
	var all []figure.Boundary
	shared, keys := true, map[int]bool{}
	for _, c := range d.columns {
		own := c.boundaries()
		shared = shared && sameBoundaries(first, own)
		for _, b := range own {
			b.Key = c.key
			all = append(all, b)
		}
		keys[c.key] = true
	}
	switch {
	case shared:
		return first
	case len(all) <= mostBoundaries && len(keys) == len(d.columns):
		return all
	}
	return nil
}

// sameBoundaries reports whether two loads changed in the same way and at the
// same time, to the second that their records have.
func sameBoundaries(a, b []figure.Boundary) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Label != b[i].Label || math.Abs(a[i].X-b[i].X) > 1 {
			return false
		}
	}
	return true
}
