package chart

import (
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// networkFigures show the traffic of the whole load.
func networkFigures(d *Data) []figure.Figure {
	f := figure.Figure{
		Name: "NETWORK-TRAFFIC", Short: "Network traffic of the load", Kind: figure.Bars,
		Subtitle:   "Sum over the servers' interfaces, and the client's",
		Y:          figure.Axis{Label: "Traffic", Unit: "bytes"},
		Categories: []string{"Servers, received", "Servers, transmitted", "Client, received", "Client, transmitted"},
	}
	var notes run.PerTag
	d.add(&f, sameOrder, func(i int, s figure.Series) []figure.Series {
		r := d.Runs[i]
		for _, get := range []run.Counter{run.Of(metric.ReceiveBytes), run.Of(metric.TransmitBytes)} {
			sum := r.ServerSum(run.Network, get)
			s.Y = append(s.Y, sum.Float())
			for _, m := range sum.Marks {
				notes.Add(r.Info.Name(), "the interface is "+m)
			}
		}
		for _, get := range []run.Counter{run.Of(metric.ReceiveBytes), run.Of(metric.TransmitBytes)} {
			s.Y = append(s.Y, r.Machines.Client.Growth(r.Windows.Load, get).Float())
		}
		for n := range s.Y { // for add; bars have no x positions
			s.X = append(s.X, float64(n))
		}
		return []figure.Series{s}
	})
	for i := range f.Series {
		f.Series[i].X = nil
	}
	if d.repeated() {
		f.Subtitle += "; of trials, the median"
		f.Band = ""
	}
	f.Notes = notes.Lines()
	return []figure.Figure{f}
}
