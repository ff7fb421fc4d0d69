package chart

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// clientFigures are throughput and latency by the number of clients, of loads that had
// several and whose clients sent as fast as they could.
func clientFigures(d *Data) []figure.Figure {
	if !slices.ContainsFunc(d.Runs, byClientsOnly) {
		return nil
	}
	return []figure.Figure{
		d.clientFigure("AVG-THROUGHPUT", figure.Axis{Label: "Throughput", Unit: "Requests/Second"}),
		d.clientFigure("AVG-LATENCY-MS", figure.Axis{Label: "Latency", Unit: "millisecond"}),
	}
}

// byClientsOnly reports whether a run's steps differ by their clients alone. Where
// requests were due at a rate, throughput is the rate that was asked for.
func byClientsOnly(r *run.Run) bool { return r.Load.Stepped() && !r.Rated() }

// clientFigure is a quantity's true mean by the number of clients.
func (d *Data) clientFigure(name string, y figure.Axis) figure.Figure {
	f := figure.Figure{
		Name: name + "-BY-CLIENTS", Title: d.titled(y.Label + " by Clients"), Kind: figure.Points,
		X: figure.Axis{Label: "Concurrent Clients"}, Y: y,
	}
	var rated []string
	for i, r := range d.Runs {
		if r.Rated() {
			rated = append(rated, r.Info.Name())
			continue
		}
		s := d.line(r)
		for _, g := range r.ByClients() {
			s.X = append(s.X, float64(g.Clients))
			s.Y = append(s.Y, value(g, d.Series[i], name))
		}
		f.Series = append(f.Series, s)
	}
	if len(rated) > 0 {
		f.Notes = append(f.Notes, "left out, because requests were due at rates that the steps set: "+strings.Join(rated, ", "))
	}
	return f
}
