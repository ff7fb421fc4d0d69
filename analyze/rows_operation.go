package analyze

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// operationRows are the rows of mixed loads, one set for each operation.
func operationRows(columns []*column) (out []row) {
	if !slices.ContainsFunc(columns, func(c *column) bool { return len(c.operations) > 1 }) {
		return nil
	}
	var names []string
	for _, c := range columns {
		for _, o := range c.operations {
			names = append(names, o.Operation)
		}
	}
	for _, name := range distinct(names) {
		out = append(out, rowsOfOperation(name)...)
	}
	return out
}

// rowsOfOperation are the rows of one operation.
func rowsOfOperation(name string) []row {
	of := func(get func(*column, *results.OperationSummary) Cell) func(*column) Cell {
		return func(c *column) Cell {
			for i := range c.operations {
				if c.operations[i].Operation == name {
					return get(c, &c.operations[i])
				}
			}
			return inapplicable("no %s was part of its load", name)
		}
	}
	quantile := func(q float64) func(*column) Cell {
		return of(func(_ *column, o *results.OperationSummary) Cell {
			return percentile(distributionOf(o.Latency, o.Histogram), q)
		})
	}
	at := name + ": "
	return []row{
		{name: at + "REQUESTS", unit: "requests", definition: "measured " + name + " requests that were sent, and their share of all",
			cell: of(operationRequests)},
		{name: at + "AVG-THROUGHPUT", unit: "requests/s", definition: "measured " + name + " requests answered ok / TOTAL-SECONDS",
			cell: of(func(_ *column, o *results.OperationSummary) Cell {
				if o.Window <= 0 {
					return missing("the start and end of the load were not recorded")
				}
				return number(o.Throughput(), o.OK, "%s", perSecondText(o.Throughput()))
			})},
		{name: at + "AVG-LATENCY", unit: "ms", definition: "AVG-LATENCY of the " + name + " requests",
			cell: of(func(_ *column, o *results.OperationSummary) Cell {
				d := distributionOf(o.Latency, o.Histogram)
				return millis(d, d.mean)
			})},
		{name: at + "Latency p50", unit: "ms", definition: "Latency p50 of the " + name + " requests", cell: quantile(.50)},
		{name: at + "Latency p99", unit: "ms", definition: "Latency p99 of the " + name + " requests", cell: quantile(.99)},
		{name: at + "Latency p99.9", unit: "ms", definition: "Latency p99.9 of the " + name + " requests", cell: quantile(.999)},
		{name: at + "ERRORS", unit: "requests", definition: "measured " + name + " requests that failed or are unknown, by class",
			cell: of(func(_ *column, o *results.OperationSummary) Cell { return classesCell(o.Errors) })},
	}
}

func operationRequests(c *column, o *results.OperationSummary) Cell {
	var all int64
	for _, other := range c.operations {
		all += other.Sent
	}
	if all == 0 {
		return count(0)
	}
	return number(float64(o.Sent), 0, "%s (%s %%)", humanize.Comma(o.Sent), shareText(float64(o.Sent)/float64(all)))
}

// shareText is a share of 1 in per cent, with one decimal where it is needed.
func shareText(share float64) string {
	text := fmt.Sprintf("%.1f", 100*share)
	if whole := fmt.Sprintf("%.0f", 100*share); text == whole+".0" {
		return whole
	}
	return text
}
