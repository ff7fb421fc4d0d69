package table

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// stepRows returns the rows for loads whose steps differ, one set per client count and rate.
func stepRows(runs []*run.Run) (out []Row) {
	stages := map[*run.Run][]*run.Stage{}
	var all []*run.Stage
	for _, r := range runs {
		if stages[r] = separated(r); len(stages[r]) > 1 {
			all = append(all, stages[r]...)
		}
	}
	slices.SortStableFunc(all, func(a, b *run.Stage) int {
		return cmp.Or(cmp.Compare(a.Clients, b.Clients), slices.Compare(a.Rate[:], b.Rate[:]))
	})
	done := map[string]bool{}
	for _, stage := range all {
		if done[stage.Label] {
			continue
		}
		done[stage.Label] = true
		of := func(get func(*run.Stage) Cell) func(*run.Run) Cell {
			return func(r *run.Run) Cell {
				for _, g := range stages[r] {
					if g.Label == stage.Label || g.Label == "" && g.Clients == stage.Clients && g.Rate == stage.Rate {
						return get(g)
					}
				}
				return inapplicable("the run had no step with %s", stage.Label)
			}
		}
		out = append(out, rowsOfStage(stage.Label, of)...)
	}
	return out
}

// separated returns the stages of a run. For classic files, stages are derived from the seconds.
func separated(r *run.Run) (out []*run.Stage) {
	if !r.PooledStages {
		return r.Stages
	}
	for _, g := range r.ByClients() {
		p99 := run.Missing("classic runs do not record it by step")
		latency := &run.Distribution{N: p99, Mean: g.Latency, Quantile: func(float64) run.Measure { return p99 }}
		out = append(out, &run.Stage{
			Label: run.ClientsText(g.Clients), Clients: g.Clients,
			Throughput: run.Throughput{Average: g.Throughput}, Latency: run.Latency{Due: latency, OK: latency},
		})
	}
	return out
}

func rowsOfStage(label string, of func(func(*run.Stage) Cell) func(*run.Run) Cell) []Row {
	at := label + ": "
	rows := []Row{
		{Name: at + "AVG-THROUGHPUT", Unit: "requests/s", Definition: "AVG-THROUGHPUT of the steps with " + label, Cell: of(func(g *run.Stage) Cell { return cellOf(g.Throughput.Average, perSecondText) })},
		{Name: at + "AVG-LATENCY", Unit: "ms", Definition: "AVG-LATENCY of the steps with " + label, Cell: of(func(g *run.Stage) Cell { return cellOf(mean(&g.Latency), millisText) })},
		{Name: at + "Latency p99", Unit: "ms", Definition: "Latency p99 of the steps with " + label, Cell: of(func(g *run.Stage) Cell { return percentile(g.Latency.Due.Quantile(.99)) })},
	}
	for i := range rows {
		rows[i].Step, rows[i].Metric = label, strings.TrimPrefix(rows[i].Name, at)
	}
	return rows
}
