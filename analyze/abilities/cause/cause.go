// Package cause splits the mean response time of ok requests into the parts that the records
// explain, and the rest: a ledger for each step. Rules name the parts that are large for certain.
package cause

import (
	"fmt"
	"math"
	"sync"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
)

// Half shows the ledgers and their verdicts in reports.
type Half struct{}

var (
	_ abilities.Tabler    = Half{}
	_ abilities.Explainer = Half{}
)

// Section is the ledger title in reports.
const Section = "Where the time of ok requests went (measured part)"

// account holds the ledger for a stage and the verdict on it. Without entries, why has the reason.
type account struct {
	entries []Entry
	verdict *Verdict
	why     run.Measure
}

func accountOf(r *run.Run, g *run.Stage) (a account) {
	if g.Latency.OK == nil {
		a.why = run.Inapplicable("no response time was recorded")
		return a
	}
	f := FactsOf(r, g)
	if a.entries, a.why = Ledger(f); a.entries != nil {
		a.verdict = Judge(f, a.entries)
	}
	return a
}

// accounts holds the account for each stage: all rows come from the same one.
type accounts struct {
	sync.Mutex
	known map[*run.Stage]account
}

func (a *accounts) of(r *run.Run, g *run.Stage) account {
	a.Lock()
	defer a.Unlock()
	one, is := a.known[g]
	if !is {
		one = accountOf(r, g)
		a.known[g] = one
	}
	return one
}

// Rows returns a row for the verdict, and one for each line.
func (Half) Rows() (rows []abilities.Row) {
	all := &accounts{known: map[*run.Stage]account{}}
	add := func(name, definition string, cell func(account) (run.Measure, string)) {
		after := "MEMBER-METRICS-COST"
		if len(rows) > 0 {
			after = rows[len(rows)-1].Name
		}
		rows = append(rows, abilities.Row{
			Name: name, Unit: "%", After: after, Section: Section, Definition: definition,
			OfStage: func(r *run.Run, g *run.Stage) (run.Measure, string) {
				a := all.of(r, g)
				if a.entries == nil {
					return run.Inapplicable("%s", a.why.Missing), ""
				}
				return cell(a)
			},
		})
	}
	add("BOTTLENECK", "what the mean response time of ok requests was spent on, without the wait for a free client: named if its lines below are over 50 % of it by their lower bounds, partly from 30 % on; its share, its bounds and the numbers behind them, then what else has a share; none found says no more than that no line is certainly so large", func(a account) (run.Measure, string) {
		if len(a.verdict.Suspects) == 0 {
			return run.Inapplicable("requests waited for a free client for all of the time"), ""
		}
		return a.verdict.Suspects[0].Share, a.verdict.String()
	})
	for i, l := range append(Lines(), Line{Name: Unexplained, Definition: "what the lines above leave, and what those that were not recorded would explain; negative if they overlap. All lines sum to 100 %"}) {
		add(l.Name, "share of the mean response time of ok requests (AVG-LATENCY): "+l.Definition, func(a account) (run.Measure, string) { return cell(a.entries[i]) })
	}
	return rows
}

// cell returns the share in an entry.
func cell(e Entry) (run.Measure, string) {
	text := fmt.Sprintf("%.1f %%, %.3f ms", e.Share.Value, e.Millis.Value)
	if e.Share.High != 0 && math.Round(10*e.Share.Low) != math.Round(10*e.Share.High) {
		text = fmt.Sprintf("%.1f %% [%.1f .. %.1f], %.3f ms", e.Share.Value, e.Share.Low, e.Share.High, e.Millis.Value)
	}
	return e.Share, text
}
