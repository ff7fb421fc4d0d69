// Package faults shows how long a cluster did not answer when faults were applied to its members,
// and how it recovered.
package faults

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/faults"
)

// Half shows faults in reports.
type Half struct{}

// Name is the experiment kind.
func (Half) Name() string { return "faults" }

// Acted reports whether a fault was applied during the load.
func (Half) Acted(r *run.Run) bool { return len(happened(r)) > 0 }

// Disturbed returns when faults were applied. It reads the events, which an interrupted run has
// too. If faults at one member overlap, the first end counts for the first fault: the total time
// with a fault is the same.
func (Half) Disturbed(r *run.Run) (times []abilities.Disturbance, meaning string) {
	began := map[int][]time.Time{} // by member
	for _, e := range r.Machines.Events {
		switch open := began[e.Member]; {
		case e.Kind == faults.EventFault:
			began[e.Member] = append(open, e.Time)
		case e.Kind == faults.EventOver && len(open) > 0:
			times = append(times, abilities.Disturbance{From: open[0], To: e.Time})
			began[e.Member] = open[1:]
		}
	}
	return times, "reddish: from when a fault was asked for until it was over"
}

// happened returns the faults in a run; nil if this release cannot read them.
func happened(r *run.Run) []faults.Happened {
	list, err := faults.Record().Of(r.Info.Record.Records)
	if err != nil {
		return nil
	}
	return list
}

// Rows returns a row for each fault quantity.
func (Half) Rows() []abilities.Row {
	row := func(name, after, definition string, q quantity) abilities.Row {
		return abilities.Row{Name: name, Unit: q.unit, After: after, Definition: definition, Cell: func(r *run.Run) (run.Measure, string) { return cell(r, q) }}
	}
	return []abilities.Row{
		row("FAULT-BLACKOUT", "LOG-EVENTS", "longest time without an ok answer to the load from a fault until the load had recovered: the median of the repeats of each fault of the file, with the interval of its order statistics and its coverage, or the range of fewer than six", blackout()),
		row("FAULT-SILENCE", "FAULT-BLACKOUT", "longest time in which no probe of any member was answered, and the same of the member with the fault: probes are writes over connections of their own", silence()),
		row("FAULT-BELOW", "FAULT-SILENCE", "time in which seconds had less than 95 % of the ok requests of the seconds before the fault, until the load had recovered", below()),
		row("FAULT-TO-95", "FAULT-BELOW", "time from the fault until every second had 95 % of the ok requests of the seconds before it again, for two seconds with answers in each tick", to95()),
		row("FAULT-BACKLOG", "FAULT-TO-95", "time from the fault until no more requests were pending than before it; of loads with a rate", backlog()),
		row("FAULT-LOST", "FAULT-BACKLOG", "requests that failed or whose outcome is unknown from a fault until the load had recovered", lost()),
		row("FAULT-LEADERS", "FAULT-LOST", "how often another member was found to lead from a fault until the load had recovered", leaders()),
		row("FAULT-BACK", "FAULT-LEADERS", "time from the end of a fault until its member answered a probe that was sent after it", back()),
		row("FAULT-P99", "FAULT-BACK", "p99 of the requests that ended ok in the seconds from a fault until the load had recovered", p99()),
		tapRow(),
	}
}

// cell formats a quantity for each fault in a run. The number is the largest median.
func cell(r *run.Run, q quantity) (run.Measure, string) {
	list, err := faults.Record().Of(r.Info.Record.Records)
	switch {
	case err != nil:
		return run.Missing("%v", err), ""
	case len(list) == 0:
		return run.Inapplicable("no fault was applied"), ""
	}
	var parts []string
	most, known := 0.0, int64(0)
	for _, g := range grouped(list) {
		m := g.median(q)
		parts = append(parts, fmt.Sprintf("%s: %s", g.name, m.text(q)))
		if m.N > 0 {
			most, known = max(most, m.Is), known+int64(m.N)
		}
	}
	if known == 0 {
		return run.Missing("no fault has a second of measured load before it"), ""
	}
	return run.Measured(most, known), strings.Join(parts, "; ")
}

// Say states the time without an answer to the load after the fault, or after the worst one, and to
// new clients if that differs. It names no winner, because databases differ in the settings that
// decide it. For many databases it has only the medians, by fault.
func (Half) Say(names []string, runs [][]*run.Run) string {
	var parts, worsts []string
	byFault := map[string][]string{}
	most := 0
	for i, name := range names {
		list := groups(runs[i])
		if len(list) == 0 {
			continue
		}
		worst := slices.MaxFunc(list, func(a, b group) int { return cmp.Compare(a.median(blackout()).Is, b.median(blackout()).Is) })
		load := worst.median(blackout())
		text := fmt.Sprintf("from %s for %s", name, load.short(blackout()))
		if theirs := worst.median(silence()); theirs.N > 0 && differ(load.Is, theirs.Is) {
			text += fmt.Sprintf(", new clients for %s,", theirs.short(silence()))
		}
		parts, most = append(parts, text+" after "+worst.name), max(most, len(list))
		if byFault[worst.name] == nil {
			worsts = append(worsts, worst.name)
		}
		byFault[worst.name] = append(byFault[worst.name], fmt.Sprintf("%s for %s", name, load.alone(blackout())))
	}
	if len(parts) > mostIntervals {
		parts = nil
		for _, fault := range worsts {
			parts = append(parts, fmt.Sprintf("after %s from %s", fault, english.WordSeries(byFault[fault], "and")))
		}
	}
	before := "The load"
	if most > 1 {
		before = fmt.Sprintf("At the worst of %d faults the load", most)
	}
	return before + " got no answer " + strings.Join(parts, "; ")
}

// mostIntervals is the database count up to which the sentence has intervals.
const mostIntervals = 4

// differ reports whether two times differ by a quarter, and by more than probes may miss.
func differ(a, b float64) bool { return math.Abs(a-b) > max(.25*a, .2) }
