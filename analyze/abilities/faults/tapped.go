package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// tapRow is the row about the cost of taps.
func tapRow() abilities.Row {
	return abilities.Row{
		Name: "FAULT-TAP", Unit: "ms", After: "FAULT-P99",
		Definition: "what the tap adds to a sync of a member whose disk may have a fault, measured before the member started: the median time of appends of 4 KiB with fdatasync that pass its agent, less that of as many that do not, in turns; of the member with the largest",
		Cell:       tapCell,
	}
}

// tapped returns the members whose taps have a measured cost.
func tapped(r *run.Run) (members []results.Member) {
	for _, m := range r.Info.Record.Members {
		if m.Disk != nil && m.Disk.Tap != nil {
			members = append(members, m)
		}
	}
	return members
}

// tapCell formats the cost of the taps.
func tapCell(r *run.Run) (run.Measure, string) {
	if len(happened(r)) == 0 {
		return run.Inapplicable("no fault was applied"), ""
	}
	var parts []string
	most := run.Missing("no member had a tap, or its cost was not measured")
	for _, m := range tapped(r) {
		t := m.Disk.Tap
		parts = append(parts, fmt.Sprintf("member %d: %.3f ms, %.3f ms with and %.3f ms without (n = %d of each)", m.Index+1, costOf(t), milliseconds(t.With), milliseconds(t.Without), t.N))
		if cost := costOf(t); !most.Known() || cost > most.Value {
			most = run.Measured(cost, int64(t.N))
		}
	}
	return most, strings.Join(parts, "; ")
}

// tapNote states the cost of taps in some runs of one database, and which members' syncs include it
// if not all do; "" if no cost was measured.
func tapNote(runs []*run.Run) string {
	var costs []float64
	var ns []int
	var names []string
	all := true
	for _, r := range runs {
		members := tapped(r)
		all = all && len(members) == len(r.Info.Record.Members)
		for _, m := range members {
			costs, ns = append(costs, costOf(m.Disk.Tap)), append(ns, m.Disk.Tap.N)
			if name := fmt.Sprintf("member %d", m.Index+1); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(costs) == 0 {
		return ""
	}
	whose := ""
	if !all {
		whose = " of " + english.WordSeries(names, "and")
	}
	ms := func(cost float64) string { return fmt.Sprintf("%.3f", cost) }
	return fmt.Sprintf("; each sync%s costs %s ms more under the tap (n = %s, before the load)", whose, run.RangeText(costs, ms), run.RangeText(ns, strconv.Itoa))
}

// costOf returns the time that a tap adds to a sync, in milliseconds.
func costOf(t *results.TapCost) float64 { return milliseconds(t.With - t.Without) }

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
