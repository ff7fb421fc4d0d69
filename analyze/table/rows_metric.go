package table

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// metricRows returns a row for each metric whose declaration has Report: a counter's growth over
// all servers, or a gauge's largest value at one member.
func metricRows() (rows []Row) {
	for _, m := range metric.System().Metrics() {
		if m.Report {
			rows = append(rows, metricRow(m))
		}
	}
	return rows
}

func metricRow(m metric.Metric) Row {
	if m.Kind == metric.Counter {
		return Row{
			Name: "SERVER-" + m.Column, Unit: m.Unit, Ours: true,
			Definition: m.Help + "; of all members, over the load: last counter minus first",
			Cell:       attended(since(run.Of(m.Name), wherePresent(m, serverSum(run.SourceOf(m), run.Of(m.Name), metricText(m))))),
		}
	}
	return Row{
		Name: "MEMBER-MAX-" + m.Column, Unit: m.Unit, Ours: true,
		Definition: m.Help + ", the largest during the load; the member with the highest value, by name",
		Cell:       attended(since(run.Of(m.Name), wherePresent(m, memberPeak(run.Of(m.Name), metricText(m))))),
	}
}

// wherePresent prints an optional metric only if a sample has it.
func wherePresent(m metric.Metric, cell func(*run.Run) Cell) func(*run.Run) Cell {
	if !m.Optional {
		return cell
	}
	return func(r *run.Run) Cell {
		if r.Machines.Have(run.Of(m.Name)) {
			return cell(r)
		}
		return inapplicable("no member's machine reports it")
	}
}

// since replaces the cell if no sample in an older record has the metric, because the version that
// wrote the record did not sample it.
func since(get run.Gauge, cell func(*run.Run) Cell) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		if then := r.Info.Unrecorded(); then.Words != "" && r.Machines.Sampled() && !r.Machines.Have(get) {
			return cellOf(then, percentText)
		}
		return cell(r)
	}
}

// metricText returns the format for a metric's values.
func metricText(m metric.Metric) func(float64) string {
	switch {
	case m.Unit == "bytes":
		return run.HumanSize
	case m.Unit == "s":
		return secondText
	case m.Unit == "%":
		return percentText
	case m.Whole():
		return commaText
	}
	return func(v float64) string { return fmt.Sprintf("%.*f", max(m.Decimals, 2), v) }
}
