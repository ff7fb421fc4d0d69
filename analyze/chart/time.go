package chart

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
)

// Plot names a column of the series to draw by second, and its axes.
type Plot struct{ Column, XAxis, YAxis string }

// timeFigures returns the plots of the options.
func timeFigures(d *Data) (out []figure.Figure) {
	for _, p := range d.Plots {
		out = append(out, d.timeFigure(p))
	}
	return out
}

// timeFigure is a quantity by the second since the load began.
func (d *Data) timeFigure(p Plot) figure.Figure {
	f := figure.Figure{
		Name: p.Column, Title: d.titled(axisOf(p).Label), Kind: figure.Lines,
		X: figure.Axis{Label: p.XAxis}, Y: axisOf(p),
	}
	partial := false
	for i, r := range d.Runs {
		s := line(r)
		values := d.Series[i].column(p.Column)
		if values == nil {
			continue
		}
		start := r.Start()
		for n, unix := range d.Series[i].Unix {
			s.X = append(s.X, float64(unix-start))
			s.Y = append(s.Y, values[n])
			s.Uncertain = append(s.Uncertain, p.Column == "AVG-THROUGHPUT" && !r.Windows.Whole(unix))
		}
		partial = partial || slices.Contains(s.Uncertain, true)
		f.Series = append(f.Series, s)
	}
	f.Steps = d.boundaries()
	markStops(&f, d.Runs...)
	if partial {
		f.Notes = append(f.Notes, "dotted: seconds that do not lie wholly inside a step")
	}
	return f
}

// axisOf splits a classic axis such as "Latency(millisecond)" into label and unit.
// Bytes per second get binary ticks.
func axisOf(p Plot) figure.Axis {
	label, unit := p.YAxis, ""
	if open := strings.LastIndex(label, "("); open > 0 && strings.HasSuffix(label, ")") {
		label, unit = strings.TrimSpace(label[:open]), strings.TrimSuffix(label[open+1:], ")")
	}
	if strings.Contains(p.Column, "BYTES") && strings.HasSuffix(p.Column, "-DELTA") {
		label, unit = strings.TrimSuffix(label, "(bytes)"), "bytes/s"
	}
	return figure.Axis{Label: label, Unit: unit}
}
