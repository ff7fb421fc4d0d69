package analyze

import (
	"math"

	"github.com/coreos/dbtester/analyze/figure"
)

// networkFigure is the traffic of the whole load.
func (d *document) networkFigure() figure.Figure {
	f := figure.Figure{
		Name: "NETWORK-TRAFFIC", Title: d.title("Network Traffic of the Load"), Kind: figure.Bars,
		Subtitle:   "Sum over the servers' interfaces, and the client's",
		Y:          figure.Axis{Label: "Traffic", Unit: "bytes"},
		Categories: []string{"Servers, received", "Servers, transmitted", "Client, received", "Client, transmitted"},
	}
	var notes remarks
	for _, c := range d.columns {
		s := line(c)
		for _, get := range []counter{received, transmitted} {
			v, _, marks, why := c.serverSum(network, get)
			s.Y = append(s.Y, known(v, why))
			for _, m := range marks {
				notes.add(c.tag, "the interface is "+m)
			}
		}
		for _, get := range []counter{received, transmitted} {
			v, _, why := c.client.growth(c.window, get)
			s.Y = append(s.Y, known(v, why))
		}
		f.Series = append(f.Series, s)
	}
	f.Notes = notes.lines()
	return f
}

// known is v, or a gap if it is missing.
func known(v float64, missing string) float64 {
	if missing != "" {
		return math.NaN()
	}
	return v
}
