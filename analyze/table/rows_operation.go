package table

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// operationRows returns the rows for mixed loads, one set per operation.
func operationRows(runs []*run.Run) (out []Row) {
	var names []string
	for _, r := range runs {
		for _, g := range r.Stages {
			for _, o := range g.Operations {
				names = append(names, o.Operation)
			}
		}
	}
	if !slices.ContainsFunc(runs, (*run.Run).Mixed) {
		return nil
	}
	for _, name := range run.Distinct(names) {
		out = append(out, rowsOfOperation(name)...)
	}
	return out
}

func rowsOfOperation(name string) []Row {
	of := func(get func(*run.Stage, *results.OperationSummary) Cell) func(*run.Run) Cell {
		return byStage(func(g *run.Stage) Cell {
			for i := range g.Operations {
				if g.Operations[i].Operation == name {
					return get(g, &g.Operations[i])
				}
			}
			return inapplicable("its load had no %s", name)
		})
	}
	quantile := func(q float64) func(*run.Run) Cell {
		return of(func(_ *run.Stage, o *results.OperationSummary) Cell {
			return percentile(run.DueDistribution(&o.Summary).Quantile(q))
		})
	}
	at := name + ": "
	rows := []Row{
		{Name: at + "REQUESTS", Unit: "requests", Definition: "measured " + name + " requests that were sent, and their share of all",
			Cell: of(operationRequests)},
		{Name: at + "AVG-THROUGHPUT", Unit: "requests/s", Definition: "AVG-THROUGHPUT of the " + name + " requests",
			Cell: of(func(_ *run.Stage, o *results.OperationSummary) Cell {
				return cellOf(run.ThroughputOf(&o.Served).Average, perSecondText)
			})},
		{Name: at + "AVG-LATENCY", Unit: "ms", Definition: "AVG-LATENCY of the " + name + " requests",
			Cell: of(func(_ *run.Stage, o *results.OperationSummary) Cell {
				return cellOf(run.DistributionOf(o.Latency, o.Histogram).Mean, millisText)
			})},
		{Name: at + "Latency p50", Unit: "ms", Definition: "Latency p50 of the " + name + " requests", Cell: quantile(.50)},
		{Name: at + "Latency p99", Unit: "ms", Definition: "Latency p99 of the " + name + " requests", Cell: quantile(.99)},
		{Name: at + "Latency p99.9", Unit: "ms", Definition: "Latency p99.9 of the " + name + " requests", Cell: quantile(.999)},
		{Name: at + "ERRORS", Unit: "requests", Definition: "measured " + name + " requests that failed or have an unknown outcome, by class",
			Cell: of(func(_ *run.Stage, o *results.OperationSummary) Cell { return classesCell(o.Errors) })},
	}
	for i := range rows {
		rows[i].Operation, rows[i].Metric = name, strings.TrimPrefix(rows[i].Name, at)
	}
	return rows
}

func operationRequests(g *run.Stage, o *results.OperationSummary) Cell {
	var all int64
	for _, other := range g.Operations {
		all += other.Sent
	}
	if all == 0 {
		return count(0)
	}
	return number(float64(o.Sent), 0, "%s (%s %%)", humanize.Comma(o.Sent), shareText(float64(o.Sent)/float64(all)))
}
