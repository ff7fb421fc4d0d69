package chart

import (
	"github.com/coreos/dbtester/analyze/figure"
)

// kneeFigures show the 99th percentile of latency over throughput, a point for each part
// of a load: where more clients or a higher rate buy latency alone, the line turns up.
func kneeFigures(d *Data) []figure.Figure {
	f := figure.Figure{
		Name: "P99-BY-THROUGHPUT", Title: d.titled("99th Percentile of Latency by Throughput"), Kind: figure.Points,
		Subtitle: "A point for each part of the load",
		X:        figure.Axis{Label: "Throughput", Unit: "Requests/Second", Min: new(float64)}, Y: figure.Axis{Label: "Latency, 99th percentile", Unit: "millisecond", Log: true},
	}
	for _, r := range d.Runs {
		s := d.line(r)
		for _, g := range r.Stages {
			p99, throughput := g.Latency.Due.Quantile(.99), g.Throughput.Average
			if !p99.Known() || p99.AtLeast() || p99.Words != "" || !throughput.Known() {
				continue
			}
			s.X, s.Y, s.Labels = append(s.X, throughput.Value), append(s.Y, p99.Value), append(s.Labels, g.Label)
		}
		if len(s.X) > 1 {
			f.Series = append(f.Series, s)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{f}
}
