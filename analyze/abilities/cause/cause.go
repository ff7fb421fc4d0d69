// Package cause splits the mean response time of ok requests into the parts that the records
// explain, and the rest: a ledger of each step.
package cause

import (
	"fmt"
	"math"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
)

// Half is the half of reports.
type Half struct{}

var _ abilities.Tabler = Half{}

// Section is the title of the ledger in reports.
const Section = "Where the time of ok requests went (measured part)"

// Rows returns a row for each line.
func (Half) Rows() (rows []abilities.Row) {
	after := "MEMBER-METRICS-COST"
	for i, l := range append(Lines(), Line{Name: Unexplained, Definition: "what the lines above leave, and what those that were not recorded would explain; negative if they overlap. All lines sum to 100 %"}) {
		rows = append(rows, abilities.Row{
			Name: l.Name, Unit: "%", After: after, Section: Section,
			Definition: "share of the mean response time of ok requests (AVG-LATENCY): " + l.Definition,
			OfStage:    func(r *run.Run, g *run.Stage) (run.Measure, string) { return cell(r, g, i) },
		})
		after = l.Name
	}
	return rows
}

// cell returns the entry of a stage at a place.
func cell(r *run.Run, g *run.Stage, at int) (run.Measure, string) {
	entries, why := Ledger(FactsOf(r, g))
	if entries == nil {
		return run.Inapplicable("%s", why.Missing), ""
	}
	e := entries[at]
	text := fmt.Sprintf("%.1f %%, %.3f ms", e.Share.Value, e.Millis.Value)
	if e.Share.High != 0 && math.Round(10*e.Share.Low) != math.Round(10*e.Share.High) {
		text = fmt.Sprintf("%.1f %% [%.1f .. %.1f], %.3f ms", e.Share.Value, e.Share.Low, e.Share.High, e.Millis.Value)
	}
	return e.Share, text
}
