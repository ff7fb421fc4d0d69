package run

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// DuringPause returns the event kinds that covered at least half of the longest gap without an ok
// answer in a stage: actions by control, and events in member logs, where a line has the time at
// which the event ended.
func (r *Run) DuringPause(g *Stage) (kinds []string) {
	var gap *results.Gap
	var start time.Time
	for _, step := range r.Info.Record.Steps {
		if one := step.LargestGap; slices.Contains(g.Steps, step.Index) && one != nil && (gap == nil || one.Length() > gap.Length()) {
			gap, start = one, step.Start
		}
	}
	if gap == nil {
		return nil
	}
	from := start.Add(time.Duration(gap.FromNS))
	to := from.Add(gap.Length())
	for _, e := range r.Machines.Events {
		begin, end := e.Time, e.Time.Add(e.Took)
		if e.Log != "" {
			begin, end = e.Time.Add(-e.Took), e.Time
		}
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		if e.Took > 0 && end.Sub(begin) >= gap.Length()/2 {
			kinds = append(kinds, e.Kind)
		}
	}
	return Distinct(kinds)
}
