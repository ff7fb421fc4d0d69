package chart

import (
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

// boundaries returns when the steps in a load start on the time axis.
func boundaries(r *run.Run) (out []figure.Boundary) {
	for _, c := range r.Windows.Changes {
		out = append(out, figure.Boundary{X: elapsed(r, c.At), Label: c.Label})
	}
	return out
}

// boundariesOf returns the median start of each step over the trials of a database; nil if the
// steps differ.
func boundariesOf(g trials.Group) []figure.Boundary {
	out := boundaries(g.Runs[0])
	for i := range out {
		var at []float64
		for _, r := range g.Runs {
			own := boundaries(r)
			if len(own) != len(out) || own[i].Label != out[i].Label {
				return nil
			}
			at = append(at, own[i].X)
		}
		out[i].X = trials.SpreadOf(at).Median
	}
	return out
}

// mostPanels limits the panels in a figure.
const mostPanels = 8

// split reports whether the databases' steps began at different times, so that each database needs
// its own plot.
func (d *Data) split() bool { return len(d.groups()) <= mostPanels && !d.stepsShared() }

// stepsShared reports whether all databases' steps began at the same times.
func (d *Data) stepsShared() bool {
	first := boundariesOf(d.groups()[0])
	return !slices.ContainsFunc(d.groups(), func(g trials.Group) bool { return !sameBoundaries(first, boundariesOf(g)) })
}

// markSteps draws where the steps start: in each database's panel, or once if they agree to half a
// second.
func (d *Data) markSteps(f *figure.Figure, panels bool) {
	if !panels {
		if d.stepsShared() {
			f.Steps = shortened(boundariesOf(d.groups()[0]))
		}
		return
	}
	for i, g := range d.groups() {
		f.Panels = append(f.Panels, g.Title())
		for _, b := range shortened(boundariesOf(g)) {
			b.Panel = i
			f.Steps = append(f.Steps, b)
		}
	}
}

// manySteps is the step count from which step labels omit shared words for lack of room.
const manySteps = 5

// shortened drops the word "clients" from all labels except the first if there are many.
func shortened(all []figure.Boundary) []figure.Boundary {
	clients := func(b figure.Boundary) bool {
		return strings.HasSuffix(b.Label, " clients") || strings.HasSuffix(b.Label, " client")
	}
	if len(all) < manySteps || slices.ContainsFunc(all, func(b figure.Boundary) bool { return !clients(b) }) {
		return all
	}
	for i := 1; i < len(all); i++ {
		all[i].Label, _, _ = strings.Cut(all[i].Label, " ")
	}
	return all
}

// withoutEmptyPanels removes panels without a series.
func withoutEmptyPanels(f *figure.Figure) {
	for i := len(f.Panels) - 1; i >= 0; i-- {
		if slices.ContainsFunc(f.Series, func(s figure.Series) bool { return s.Panel == i }) {
			continue
		}
		f.Panels = slices.Delete(slices.Clone(f.Panels), i, i+1)
		f.Steps = slices.DeleteFunc(slices.Clone(f.Steps), func(b figure.Boundary) bool { return b.Panel == i })
		f.Grey = slices.DeleteFunc(slices.Clone(f.Grey), func(s figure.Stretch) bool { return s.Panel == i })
		f.Events = slices.DeleteFunc(slices.Clone(f.Events), func(e figure.Event) bool { return e.Panel == i })
		eachPanel(f, func(panel *int) {
			if *panel > i {
				*panel--
			}
		})
	}
}

// eachPanel calls each with a pointer to every panel number in a figure.
func eachPanel(f *figure.Figure, each func(panel *int)) {
	for i := range f.Series {
		each(&f.Series[i].Panel)
	}
	for i := range f.Steps {
		each(&f.Steps[i].Panel)
	}
	for i := range f.Grey {
		each(&f.Grey[i].Panel)
	}
	for i := range f.Events {
		each(&f.Events[i].Panel)
	}
}

// sameBoundaries reports whether two loads changed in the same way and at the same times, to half a
// second.
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
