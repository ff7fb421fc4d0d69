package chart

import (
	"github.com/coreos/dbtester/analyze/figure"
)

// backlogFigures show the requests due and not sent, and those in flight, of loads with
// a rate.
func backlogFigures(d *Data) []figure.Figure {
	f := figure.Figure{
		Name: "BACKLOG", Title: d.titled("Requests Waiting and in Flight"), Kind: figure.Lines,
		Subtitle: "At the end of each second: due and not sent; sent and not ended",
		X:        figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Requests"}, Steps: d.boundaries(),
	}
	for _, r := range d.Runs {
		if !r.Rated() || len(r.Load.Gauges) == 0 {
			continue
		}
		waiting, flying := line(r), line(r)
		waiting.Name += ", waiting"
		flying.Name, flying.Thin, flying.Dash = flying.Name+", in flight", true, figure.Dashed
		for _, g := range r.Load.Gauges {
			x := float64(g.Second - r.Start())
			waiting.X, waiting.Y = append(waiting.X, x), append(waiting.Y, float64(g.Backlog))
			flying.X, flying.Y = append(flying.X, x), append(flying.Y, float64(g.InFlight))
		}
		f.Series = append(f.Series, waiting, flying)
	}
	if len(f.Series) == 0 {
		return nil
	}
	markStops(&f, d.Runs...)
	return []figure.Figure{f}
}
