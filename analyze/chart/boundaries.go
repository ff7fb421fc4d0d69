package chart

import (
	"math"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// boundaries returns the starts of a load's steps on the time axis of its figures.
func boundaries(r *run.Run) (out []figure.Boundary) {
	for _, c := range r.Windows.Changes {
		out = append(out, figure.Boundary{X: elapsed(r, c.At), Label: c.Label})
	}
	return out
}

// mostBoundaries bounds the boundaries of several databases in one figure.
const mostBoundaries = 9

// boundaries returns those of all runs: once if all share them to half a second, in each
// run's colour if they are few, else none.
func (d *Data) boundaries() []figure.Boundary {
	first := boundaries(d.Runs[0])
	var all []figure.Boundary
	shared, keys := true, map[int]bool{}
	for _, r := range d.Runs {
		own := boundaries(r)
		shared = shared && sameBoundaries(first, own)
		for _, b := range own {
			b.Key = d.lookOf(r).key
			all = append(all, b)
		}
		keys[d.lookOf(r).key] = true
	}
	switch {
	case shared:
		return first
	case len(all) <= mostBoundaries && len(keys) == len(d.Runs):
		return all
	}
	return nil
}

// sameBoundaries reports whether two loads changed in the same way and at the
// same time, to half a second.
func sameBoundaries(a, b []figure.Boundary) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Label != b[i].Label || math.Abs(a[i].X-b[i].X) > .5 {
			return false
		}
	}
	return true
}
