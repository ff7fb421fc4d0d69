package answers

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// lostServer reports whether the experiment expects to lose a server.
func (s *screen) lostServer() bool {
	return s.any(func(r *run.Run) bool { return r.Info.Record.Load.Expect.LostServers > 0 })
}

// sayPauses states how long no request was answered.
func (s *screen) sayPauses() string {
	var parts []string
	for _, c := range s.columns {
		parts = append(parts, fmt.Sprintf("%s by %s", c.pauseText(), c.Name))
	}
	return "When a server was lost, no request was answered for " + names(parts)
}

// pauseText formats the median over the longest pause in each trial.
func (c Column) pauseText() string {
	spread, first := c.Measure(Pause)
	if !first.Known() {
		return "an unknown time"
	}
	return PauseText(first, spread.Median)
}

// sayActed states the cost of an ability that acted during the load: the throughput meanwhile, and
// the longest pause.
func (s *screen) sayActed() string {
	var parts []string
	for i, c := range s.columns {
		throughput := c.median(s.measureOf, table.Significant)
		text := fmt.Sprintf("%s answered %s a second", c.Name, throughput)
		if i == 0 {
			text = fmt.Sprintf("%s answered %s %s a second", c.Name, throughput, s.requests())
		}
		if spread, first := c.Measure(Pause); first.Known() && first.High == 0 {
			text += fmt.Sprintf(", but none for %s%s", PauseText(first, spread.Median), during(c.Runs))
		}
		parts = append(parts, text)
	}
	return names(parts)
}

// during states when the longest pause was, and which events were recorded meanwhile.
func during(runs []*run.Run) string {
	longest := slices.MaxFunc(runs, func(a, b *run.Run) int { return int(Pause(a).Value - Pause(b).Value) })
	for _, g := range longest.Stages {
		a := g.Availability
		if !a.Gap.Known() || a.Gap.Value != Pause(longest).Value {
			continue
		}
		at := ""
		if a.GapAt != "" {
			at = " " + a.GapAt
		}
		if kinds := longest.DuringPause(g); len(kinds) > 0 {
			return fmt.Sprintf("%s, during which members reported %s", at, names(kinds[:min(len(kinds), 2)]))
		}
		return at
	}
	return ""
}

// wall is the point after which a store refused every request.
type wall struct {
	// after is in seconds since the load began, rate is in answered requests per second until then,
	// and refused is a share of all due requests.
	after, rate, refused float64
	due                  int64
}

// wallSeconds is the fewest seconds without any answer, at the end of a load, that count as a wall.
const wallSeconds = 2

// wallOf finds the wall in a run.
func wallOf(r *run.Run) (wall, bool) {
	seconds := r.Load.PerSecond()
	last := -1
	ok, due := 0.0, 0.0
	for i, s := range seconds {
		if s.OK > 0 {
			last = i
		}
		ok += s.OK
		due += s.OK + s.Failed + s.Unknown
	}
	if last < 0 || len(seconds)-1-last < wallSeconds || due == 0 {
		return wall{}, false
	}
	refusing := slices.ContainsFunc(seconds[last+1:], func(s run.Second) bool { return s.Failed+s.Unknown > 0 })
	after := float64(seconds[last].Unix+1) - float64(r.Origin())/1e9
	if !refusing || after <= 0 {
		return wall{}, false
	}
	return wall{after: after, rate: ok / after, refused: 1 - ok/due, due: int64(due)}, true
}

// refused reports whether a store refused requests until the end, in a load that expects refusals.
func (s *screen) refused() bool {
	return s.every(func(r *run.Run) bool {
		e := r.Info.Record.Load.Expect
		_, found := wallOf(r)
		return found && (e.Failed > 0 || e.Unknown > 0)
	})
}

// sayRefused states when each store began to refuse, as a median over its trials.
func (s *screen) sayRefused() string {
	median := func(c Column, of func(wall) float64) float64 {
		spread, _ := c.Measure(func(r *run.Run) run.Measure {
			w, found := wallOf(r)
			if !found {
				return run.Missing("the store did not refuse until the end")
			}
			return run.Measured(of(w), w.due)
		})
		return spread.Median
	}
	var parts []string
	for _, c := range s.columns {
		why := ""
		if errors := c.Runs[0].Load.Errors; len(errors) > 0 {
			why = fmt.Sprintf(" (%s)", errors[0].Class)
		}
		parts = append(parts, fmt.Sprintf("%s answered %s %s a second for %s s, then none until the end%s: %s %% of %s were not answered",
			c.Name, table.Significant(median(c, func(w wall) float64 { return w.rate })), s.requests(),
			table.Significant(median(c, func(w wall) float64 { return w.after })), why,
			table.Significant(100*median(c, func(w wall) float64 { return w.refused })), table.Count(int64(median(c, func(w wall) float64 { return float64(w.due) })))))
	}
	return names(parts)
}
