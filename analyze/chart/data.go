package chart

import (
	"slices"

	"github.com/coreos/dbtester/analyze/answers/curve"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Data holds the runs in a report, their series by second, and the requested plots.
type Data struct {
	Title  string
	Runs   []*run.Run
	Series []*Series // one per run
	Plots  []Plot
	// Sweeps are the runs' curves.
	Sweeps []curve.Sweep
	Marks  []run.Mark

	grouped []trials.Group // see groups
}

// Stepped reports whether any load had several client counts.
func (d *Data) Stepped() bool {
	return slices.ContainsFunc(d.Runs, func(r *run.Run) bool { return r.Load.Stepped() })
}

// Drawn names the columns in a series that files and figures use more than once.
func (d *Data) Drawn(r *run.Run) []string {
	names := []string{"AVG-VMRSS-MB", "AVG-VMRSS-MB" + joinedSuffix, "AVG-VMRSS-MB" + whichSuffix, "AVG-READ-BYTES-NUM-DELTA", "AVG-WRITE-BYTES-NUM-DELTA"}
	for _, p := range d.Plots {
		column := drawnColumn(p)
		names = append(names, p.Column, column, column+joinedSuffix, column+whichSuffix)
	}
	if d.Stepped() {
		names = append(names, "AVG-CPU", "MAX-CPU")
	}
	for i := range r.Machines.Servers {
		for _, p := range memberPlots() {
			names = append(names, memberColumn(p.column, i))
		}
	}
	return names
}

// titled returns the title of a figure: the experiment, then the quantity.
func (d *Data) titled(quantity string) string {
	if d.Title == "" {
		return quantity
	}
	return d.Title + ", " + quantity
}

// counted names the unit for cumulative counts: keys, if every request in every load created one.
func (d *Data) counted() string {
	if slices.ContainsFunc(d.Runs, func(r *run.Run) bool { return !creates(r.Info.Record.Load) }) {
		return "Requests"
	}
	return "Keys"
}

// creates reports whether each request in a load created a key.
func creates(l results.Load) bool {
	return !l.SameKey && !l.Any(workload.Op.ChoosesKey) && !l.Any(workload.Op.OfSessions)
}
