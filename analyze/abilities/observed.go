package abilities

import (
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/observation"
)

// Observed returns rows with totals over groups, for values that have a total.
func Observed(groups []observation.Group) (rows []Row) {
	for _, g := range groups {
		for _, v := range g.Values {
			if v.Row == "" {
				continue
			}
			row := Row{Name: v.Row, Unit: v.Unit, Definition: v.Definition, After: v.After}
			if v.Merging == observation.Times {
				row.Unit, row.Definition = "ms", v.Definition+": how many, percentiles of enough of them, and the longest, which is the number"
			}
			row.Cell = func(r *run.Run) (run.Measure, string) { return observed(r, g.Name, v) }
			rows = append(rows, row)
		}
	}
	return rows
}

// observed is the total of a value.
func observed(r *run.Run, group string, v observation.Value) (run.Measure, string) {
	totals, err := ability.Observed().Of(r.Info.Record.Records)
	if err != nil {
		return run.Missing("%v", err), ""
	}
	t, ok := totals[group][v.Name]
	if !ok {
		return run.Inapplicable("nothing of the kind was observed"), ""
	}
	if v.Merging == observation.Times {
		return run.Measure{Value: float64(t.Longest) / 1e6, N: t.N}, t.Text(v)
	}
	return run.Counted(t.Value), t.Text(v)
}
