// Package upkeep shows how a cluster's upkeep affected a load.
package upkeep

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/results/effect"
)

// Half shows upkeep in reports.
type Half struct{}

// Name is the experiment kind.
func (Half) Name() string { return "upkeep" }

// Acted reports whether the cluster was maintained during the load.
func (Half) Acted(r *run.Run) bool {
	effects, err := upkeep.Record().Of(r.Info.Record.Records)
	return err == nil && len(effects) > 0
}

// Settings returns for each upkeep kind whether a run had it.
func (Half) Settings() map[string]func(*run.Run) bool {
	acted := map[string]func(*run.Run) bool{}
	for _, k := range upkeep.Kinds() {
		acted["maintain."+k.Key] = func(r *run.Run) bool {
			effects, err := upkeep.Record().Of(r.Info.Record.Records)
			return err != nil || slices.ContainsFunc(effects, func(e effect.Effect) bool { return e.Kind == k.Event && e.Times+e.Failed > 0 })
		}
	}
	return acted
}

// Rows returns one row, with the effect of each upkeep kind.
func (Half) Rows() []abilities.Row {
	return []abilities.Row{{
		After: "LOG-EVENTS", Name: "UPKEEP", Unit: "times", Cell: cell,
		Definition: "upkeep of the cluster by control during the load with the longest of each kind, and the p99 of requests that ended ok in measured seconds with upkeep, compared with the p99 in seconds without",
	}}
}

// cell formats each upkeep kind with its effect on latency.
func cell(r *run.Run) (run.Measure, string) {
	effects, err := upkeep.Record().Of(r.Info.Record.Records)
	switch {
	case err != nil:
		return run.Missing("%v", err), ""
	case len(effects) == 0:
		return run.Inapplicable("no upkeep was done"), ""
	}
	var parts []string
	var times int64
	for _, e := range effects {
		times += int64(e.Times)
		text := fmt.Sprintf("%s %d (longest %s", e.Kind, e.Times, e.Longest.Round(time.Millisecond/10))
		if e.Failed > 0 {
			text += fmt.Sprintf(", %d not complete", e.Failed)
		}
		if e.Requests > 0 && e.RestRequests > 0 {
			text += fmt.Sprintf("; p99 %.4f ms in its %d s, %.4f ms in the others", float64(e.P99)/1e6, e.Seconds, float64(e.RestP99)/1e6)
		}
		parts = append(parts, text+")")
	}
	return run.Counted(times), strings.Join(parts, ", ")
}
