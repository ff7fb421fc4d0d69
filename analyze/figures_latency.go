package analyze

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/results"
)

// percentileFigure is the latency of every percentile, so that the tail has as
// much room as the middle.
func (d *document) percentileFigure() figure.Figure {
	f := d.percentiles("LATENCY-PERCENTILES", "Latency by Percentile")
	for _, c := range d.columns {
		s := line(c)
		if c.rated() {
			s.Name += ", response"
		}
		addSpectrum(&f, s, c.latency)
		if c.service != nil {
			s := line(c)
			s.Name, s.Thin, s.Dash = c.tag+", service", true, figure.Dashed
			addSpectrum(&f, s, c.service)
		}
	}
	return withDoubts(f)
}

// mostLines is how many lines of percentiles can be told apart.
const mostLines = 8

// partFigures are the percentiles of each database by step and by operation. In
// them colours tell steps or operations apart.
func (d *document) partFigures() (out []figure.Figure) {
	for _, c := range d.columns {
		steps := d.percentiles("LATENCY-PERCENTILES-BY-STEP-"+fileTag(c.tag), "Latency by Percentile, "+c.tag+" by Step")
		for i, s := range c.steps {
			at := slices.IndexFunc(c.run.Steps, func(r results.Step) bool { return r.Index == s.Step })
			if at >= 0 {
				addSpectrum(&steps, figure.Series{Name: c.stepLabel(c.run.Steps[at]), Key: i + 1}, distributionOf(s.Latency, s.Histogram))
			}
		}
		operations := d.percentiles("LATENCY-PERCENTILES-BY-OPERATION-"+fileTag(c.tag), "Latency by Percentile, "+c.tag+" by Operation")
		for i, o := range c.operations {
			addSpectrum(&operations, figure.Series{Name: o.Operation, Key: i + 1}, distributionOf(o.Latency, o.Histogram))
		}
		for _, f := range []figure.Figure{steps, operations} {
			if n := len(f.Series); n > 1 && n <= mostLines {
				out = append(out, withDoubts(f))
			}
		}
	}
	return out
}

// percentiles is an empty figure of percentiles.
func (d *document) percentiles(name, what string) figure.Figure {
	return figure.Figure{
		Name: name, Title: d.title(what), Kind: figure.Percentiles,
		X: figure.Axis{Label: "Percentile"}, Y: figure.Axis{Label: "Latency", Unit: "millisecond", Log: true},
	}
}

// withDoubts says what dotted lines are, if there are any.
func withDoubts(f figure.Figure) figure.Figure {
	if slices.ContainsFunc(f.Series, func(s figure.Series) bool { return slices.Contains(s.Uncertain, true) }) {
		f.Notes = append(f.Notes, "dotted: fewer than ten requests lie above the percentile")
	}
	return f
}

// addSpectrum adds a distribution's percentiles as far as a request lies above.
func addSpectrum(f *figure.Figure, s figure.Series, d *distribution) {
	for _, q := range []float64{0, .1, .25, .5, .6, .7, .75, .8, .85, .9, .925, .95, .97, .98, .99, .993, .995, .997, .998, .999, .9995, .9998, .9999, .99995, .99999, .999999} {
		if float64(d.n)*(1-q) < 1 {
			break
		}
		v, why := d.quantile(q)
		if why != "" {
			continue
		}
		s.X = append(s.X, math.Round(q*1e8)/1e6)
		s.Y = append(s.Y, v.ms)
		s.Uncertain = append(s.Uncertain, v.few)
	}
	if len(s.X) > 0 {
		f.Series = append(f.Series, s)
	}
}

// backlogFigure is what was due and not sent, and what was in flight, of loads
// with a rate.
func (d *document) backlogFigure() figure.Figure {
	f := figure.Figure{
		Name: "BACKLOG", Title: d.title("Requests Waiting and in Flight"), Kind: figure.Lines,
		Subtitle: "At the end of each second: due and not sent; sent and not ended",
		X:        figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Requests"}, Steps: d.boundaries(),
	}
	for _, c := range d.columns {
		if !c.rated() || len(c.gauges) == 0 {
			continue
		}
		waiting, flying := line(c), line(c)
		waiting.Name += ", waiting"
		flying.Name, flying.Thin, flying.Dash = c.tag+", in flight", true, figure.Dashed
		for _, g := range c.gauges {
			x := float64(g.Second - c.loadStart())
			waiting.X, waiting.Y = append(waiting.X, x), append(waiting.Y, float64(g.Backlog))
			flying.X, flying.Y = append(flying.X, x), append(flying.Y, float64(g.InFlight))
		}
		f.Series = append(f.Series, waiting, flying)
	}
	return f
}
