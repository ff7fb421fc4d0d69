package chart

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// mostStops limits the drawn stretches per figure in which a client was stopped. The longest are
// drawn.
const mostStops = 4

// stop is a stretch of time in which a run's client was stopped.
type stop struct {
	results.Stretch
	run *run.Run
}

// markStops draws when a run's client was stopped, because measurements taken then are no evidence
// about the database. A stretch has a line at its beginning and, if it lasts at least a second,
// another at its end.
func (d *Data) markStops(f *figure.Figure, runs ...*run.Run) {
	var all []stop
	for _, r := range runs {
		for _, s := range r.Info.Record.Stopped() {
			all = append(all, stop{s, r})
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b stop) int { return cmp.Compare(b.Length, a.Length) })
	for _, s := range all[:min(len(all), mostStops)] {
		at := elapsedAt(s.run, s.From)
		key, panel := 0, d.place(s.run)
		if d.several(runs) && len(f.Panels) == 0 {
			key = d.lookOf(s.run).key
		}
		f.Steps = append(f.Steps, figure.Boundary{X: at, Label: fmt.Sprintf("client stopped %.1f s", s.Length.Seconds()), Key: key, Panel: panel})
		if s.Length.Seconds() >= 1 {
			f.Steps = append(f.Steps, figure.Boundary{X: at + s.Length.Seconds(), Label: "client runs again", Key: key, Panel: panel})
		}
	}
	slices.SortStableFunc(f.Steps, func(a, b figure.Boundary) int { return cmp.Compare(a.X, b.X) })
	note := "measurements taken while the client was stopped say nothing about the database"
	if more := len(all) - mostStops; more > 0 {
		note += fmt.Sprintf("; the %d longest of %d stops are marked", mostStops, len(all))
	}
	f.Notes = append(f.Notes, note)
}
