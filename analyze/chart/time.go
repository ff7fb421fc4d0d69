package chart

import (
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// Plot names a series column to draw by second, and its axes.
type Plot struct{ Column, XAxis, YAxis string }

// requestFigures returns the requested plots about requests, throughput first.
func requestFigures(d *Data) (out []figure.Figure) {
	for _, p := range d.Plots {
		if ofRequests(p) && p.Column == "AVG-THROUGHPUT" {
			out = append(out, d.timeFigure(p))
		}
	}
	for _, p := range d.Plots {
		if ofRequests(p) && p.Column != "AVG-THROUGHPUT" {
			out = append(out, d.timeFigure(p))
		}
	}
	return out
}

// machineFigures returns the requested plots about machines.
func machineFigures(d *Data) (out []figure.Figure) {
	for _, p := range d.Plots {
		if !ofRequests(p) {
			out = append(out, d.timeFigure(p))
		}
	}
	return out
}

// ofRequests reports whether a plot shows client measurements.
func ofRequests(p Plot) bool {
	return strings.Contains(p.Column, "LATENCY") || strings.Contains(p.Column, "THROUGHPUT")
}

// drawnColumn returns the column that a plot draws. The classic plots for context switches showed
// the total since the members started, in which single seconds are invisible. They now show the
// switches per second.
func drawnColumn(p Plot) string {
	switch p.Column {
	case "AVG-VOLUNTARY-CTXT-SWITCHES", "AVG-NON-VOLUNTARY-CTXT-SWITCHES":
		return p.Column + "-DELTA"
	}
	return p.Column
}

// timeFigure draws a quantity by seconds since the load began.
func (d *Data) timeFigure(p Plot) figure.Figure {
	column := drawnColumn(p)
	f := d.overTime(p.Column, plotTitle(p), axisOf(p))
	if column != p.Column {
		f.Y.Unit = "per second"
	}
	if p.XAxis != "" && p.XAxis != classicTime {
		f.X = figure.Axis{Label: p.XAxis}
	}
	var notes run.PerTag
	d.add(&f, d.sameSecond, func(i int, s figure.Series) []figure.Series {
		values, fewer := d.Series[i].alive(column)
		if values == nil {
			return nil
		}
		if len(fewer) > 0 {
			notes.Add(s.Name, fewerText(d.Runs[i], d.Series[i], fewer))
		}
		over := d.Series[i].overPeriod(column)
		for n, unix := range d.Series[i].Unix {
			s.X = append(s.X, middle(d.Runs[i], unix))
			s.Y = append(s.Y, values[n])
			s.Partial = append(s.Partial, over && !d.Series[i].inside[n])
		}
		return []figure.Series{s}
	})
	f.Notes = append(f.Notes, notes.Lines()...)
	if ofRequests(p) {
		d.markStalls(&f)
	}
	switch p.Column {
	case "AVG-THROUGHPUT":
		d.addDue(&f)
	case "AVG-LATENCY-MS":
		d.addLogged(&f)
		fitAxis(&f)
	}
	notePartial(&f)
	shorten(&f) // unshortened, figures of a long load would take much memory
	return f
}

// classicTime is the time axis in classic plots, whose seconds were counted.
const classicTime = "Second"
