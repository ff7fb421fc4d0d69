package chart

import (
	"math"
	"slices"

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

// mostPanels bounds the small multiples of a figure.
const mostPanels = 8

// split reports whether the runs' steps began at different times, so that each run needs
// a plot of its own to show them.
func (d *Data) split() bool {
	first := boundaries(d.Runs[0])
	differ := func(r *run.Run) bool { return !sameBoundaries(first, boundaries(r)) }
	return len(d.Runs) <= mostPanels && slices.ContainsFunc(d.Runs, differ)
}

// markSteps draws the starts of the steps: in a panel for each run, or once if all runs
// share them to half a second.
func (d *Data) markSteps(f *figure.Figure, panels bool) {
	if !panels {
		if !slices.ContainsFunc(d.Runs, func(r *run.Run) bool { return !sameBoundaries(boundaries(d.Runs[0]), boundaries(r)) }) {
			f.Steps = boundaries(d.Runs[0])
		}
		return
	}
	for i, r := range d.Runs {
		f.Panels = append(f.Panels, r.Info.Name())
		for _, b := range boundaries(r) {
			b.Panel = i
			f.Steps = append(f.Steps, b)
		}
	}
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
