package chart

import "github.com/coreos/dbtester/analyze/figure"

// clientFigures are throughput and latency by the number of clients, of loads that had
// several.
func clientFigures(d *Data) []figure.Figure {
	if !d.Stepped() {
		return nil
	}
	return []figure.Figure{
		d.clientFigure("AVG-THROUGHPUT", figure.Axis{Label: "Throughput", Unit: "Requests/Second"}),
		d.clientFigure("AVG-LATENCY-MS", figure.Axis{Label: "Latency", Unit: "millisecond"}),
	}
}

// clientFigure is a quantity's true mean by the number of clients.
func (d *Data) clientFigure(name string, y figure.Axis) figure.Figure {
	f := figure.Figure{
		Name: name + "-BY-CLIENTS", Title: d.titled(y.Label + " by Clients"), Kind: figure.Points,
		X: figure.Axis{Label: "Concurrent Clients"}, Y: y,
	}
	for i, r := range d.Runs {
		s := line(r)
		for _, g := range r.ByClients() {
			s.X = append(s.X, float64(g.Clients))
			s.Y = append(s.Y, value(g, d.Series[i], name))
		}
		f.Series = append(f.Series, s)
	}
	return f
}
