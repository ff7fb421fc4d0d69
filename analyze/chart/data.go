package chart

import (
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// Data holds the runs of a report, their series by second, and the plots that were
// asked for.
type Data struct {
	Title  string
	Runs   []*run.Run
	Series []*Series // of each run
	Plots  []Plot
	Marks  []run.Mark
}

// Stepped reports whether any load had several numbers of clients.
func (d *Data) Stepped() bool {
	return slices.ContainsFunc(d.Runs, func(r *run.Run) bool { return r.Load.Stepped() })
}

// titled returns the title of a figure: the experiment, then the quantity.
func (d *Data) titled(quantity string) string {
	if d.Title == "" {
		return quantity
	}
	return d.Title + ", " + quantity
}

// counted names the unit of cumulative counts: in a mixed load a request does not
// always write a key.
func (d *Data) counted() string {
	if slices.ContainsFunc(d.Runs, (*run.Run).Mixed) {
		return "Requests"
	}
	return "Keys"
}

// line returns an empty series of a run, with the colour of its database and the dash
// of its repetition.
func line(r *run.Run) figure.Series {
	return figure.Series{Name: r.Info.Name(), Key: r.Info.Key, Dash: figure.Dash(r.Info.Repeat % 3)}
}
