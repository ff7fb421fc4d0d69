package chart

import (
	"github.com/coreos/dbtester/analyze/figure"
)

// backlogFigures show, for loads with a rate, the due but unsent requests and the requests in
// flight.
func backlogFigures(d *Data) []figure.Figure {
	f := d.overTime("BACKLOG", "Requests waiting and in flight", figure.Axis{Label: "Requests"})
	f.Subtitle = "At the end of each second: due but not sent; sent but not ended"
	d.add(&f, d.sameSecond, func(i int, s figure.Series) []figure.Series {
		r := d.Runs[i]
		if !r.Rated() || len(r.Load.Gauges) == 0 {
			return nil
		}
		waiting, flying := s, s
		waiting.Name += ", waiting"
		flying.Name, flying.Thin, flying.Dash = flying.Name+", in flight", true, figure.Dashed
		for _, g := range r.Load.Gauges {
			x := elapsed(r, (g.Second+1)*1e9)
			waiting.X, waiting.Y = append(waiting.X, x), append(waiting.Y, float64(g.Backlog))
			flying.X, flying.Y = append(flying.X, x), append(flying.Y, float64(g.InFlight))
		}
		return []figure.Series{waiting, flying}
	})
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{f}
}
