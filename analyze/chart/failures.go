package chart

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// failureFigures show the number of requests that failed or had an unknown outcome in each second,
// if any did.
func failureFigures(d *Data) []figure.Figure {
	f := d.overTime("FAILURES", "Failures", figure.Axis{Label: "Failures", Unit: "requests/s"})
	f.Subtitle = "Requests in each second that failed or have an unknown outcome"
	kinds := []struct {
		name string
		of   func(run.Second) float64
	}{{", failed", func(s run.Second) float64 { return s.Failed }}, {", unknown outcome", func(s run.Second) float64 { return s.Unknown }}}
	d.add(&f, d.sameSecond, func(i int, empty figure.Series) (lines []figure.Series) {
		for n, kind := range kinds {
			trials := d.groups()[d.place(d.Runs[i])].Runs
			if !slices.ContainsFunc(trials, func(r *run.Run) bool { return anySecond(r, kind.of) }) {
				continue
			}
			s := bySecond(empty, d.Runs[i], kind.of)
			s.Name += kind.name
			if n > 0 {
				s.Dash, s.Thin = figure.Dashed, true
			}
			lines = append(lines, s)
		}
		return lines
	})
	if len(f.Series) == 0 {
		return nil
	}
	notePartial(&f)
	return []figure.Figure{f}
}

// anySecond reports whether a count is above 0 in any second of the load.
func anySecond(r *run.Run, of func(run.Second) float64) bool {
	return slices.ContainsFunc(r.Load.PerSecond(), func(s run.Second) bool { return of(s) > 0 })
}

// bySecond adds a count for each second of the load to an empty series. A second without a record
// is 0 if there are records before and after it: nothing happened in it.
func bySecond(s figure.Series, r *run.Run, of func(run.Second) float64) figure.Series {
	var next int64
	for _, second := range r.Load.PerSecond() {
		for ; next != 0 && next < second.Unix; next++ {
			s.X, s.Y, s.Partial = append(s.X, middle(r, next)), append(s.Y, 0), append(s.Partial, !inside(r, next))
		}
		s.X, s.Y, s.Partial = append(s.X, middle(r, second.Unix)), append(s.Y, of(second)), append(s.Partial, !inside(r, second.Unix))
		next = second.Unix + 1
	}
	return s
}

// addDue adds the number of requests that became due in each second, for runs with a rate. It adds
// a single line if the runs are nearly equal.
func (d *Data) addDue(f *figure.Figure) {
	var due figure.Figure
	d.add(&due, d.sameSecond, func(i int, s figure.Series) []figure.Series {
		if !d.Runs[i].Rated() {
			return nil
		}
		s = bySecond(s, d.Runs[i], func(s run.Second) float64 { return s.Due })
		s.Name, s.Dash, s.Thin = s.Name+", due", figure.Dashed, true
		return []figure.Series{s}
	})
	all := slices.DeleteFunc(due.Series, func(s figure.Series) bool { return s.Detail })
	for i := range all {
		all[i].Low, all[i].High = nil, nil // the line belongs to the load, not to a database
	}
	if len(all) > 1 && len(all) == len(d.groups()) && len(f.Panels) == 0 && alike(all) {
		all = []figure.Series{all[0]}
		all[0].Name, all[0].Key, all[0].Variant, all[0].Marker = "due", dueKey, 0, len(all)+1
	}
	// Draw it below the other lines, which cover it where the databases kept up.
	f.Series = append(all, f.Series...)
}

// dueKey is black, the colour for quantities shared by all databases.
const dueKey = 7

// alike reports whether series have nearly the same values, apart from partial seconds.
func alike(all []figure.Series) bool {
	for _, s := range all[1:] {
		for i := range min(len(s.Y), len(all[0].Y)) {
			a, b := all[0].Y[i], s.Y[i]
			partial := s.Partial != nil && s.Partial[i] || all[0].Partial != nil && all[0].Partial[i]
			if !partial && math.Abs(a-b) > .05*max(a, b)+1 {
				return false
			}
		}
	}
	return true
}
