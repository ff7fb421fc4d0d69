package chart

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// mostLines bounds the lines of a figure: more would look alike.
const mostLines = 8

// percentileFigures show the latency of every percentile, so that the tail has as much
// room as the middle. A load whose steps differ has a line for each kind of step, of a
// shade and a marker of its own, if those of all databases are few; else only the
// figures by step show them.
func percentileFigures(d *Data) []figure.Figure {
	f := d.percentiles("LATENCY-PERCENTILES", "Latency by percentile")
	stages, staged := 0, false
	for _, r := range d.Runs {
		stages, staged = stages+len(r.Stages), staged || r.Staged()
	}
	staged = staged && stages <= mostLines
	marker, variants := 0, map[int]int{}
	for _, r := range d.Runs {
		if r.Staged() && !staged {
			continue
		}
		for _, g := range r.Stages {
			s := d.line(r)
			if r.Staged() {
				s.Name += ", " + g.Label
			}
			if staged {
				marker++
				s.Variant, s.Marker = variants[s.Key], marker
				variants[s.Key]++
			}
			service := s
			if g.Latency.Rated() {
				s.Name += ", response"
			}
			addSpectrum(&f, s, g.Latency.Due)
			service.Name, service.Thin, service.Dash = service.Name+", service", true, figure.Dashed
			addSpectrum(&f, service, g.Latency.Service)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{withDoubts(f)}
}

// partFigures show the percentiles of each database by kind of step and by operation.
// All lines have the colour of the database.
func partFigures(d *Data) (out []figure.Figure) {
	for _, r := range d.Runs {
		steps := d.percentiles("LATENCY-PERCENTILES-BY-STEP-"+run.FileTag(r.Info.Tag), "Latency by percentile, "+r.Info.Name()+" by step")
		operations := d.percentiles("LATENCY-PERCENTILES-BY-OPERATION-"+run.FileTag(r.Info.Tag), "Latency by percentile, "+r.Info.Name()+" by operation")
		for i, g := range r.Stages {
			addSpectrum(&steps, d.part(r, g.Label, i), g.Latency.Due)
			if !r.Mixed() {
				continue
			}
			for _, o := range g.Operations {
				s := d.part(r, o.Operation, len(operations.Series))
				if r.Staged() {
					s.Name += ", " + g.Label
				}
				addSpectrum(&operations, s, run.DueDistribution(&o.Summary))
			}
		}
		for _, f := range []figure.Figure{steps, operations} {
			if n := len(f.Series); n > 1 && n <= mostLines {
				out = append(out, withDoubts(f))
			}
		}
	}
	return out
}

// percentiles returns an empty figure of percentiles.
func (d *Data) percentiles(name, what string) figure.Figure {
	return figure.Figure{
		Name: name, Short: what, Kind: figure.Percentiles,
		X: figure.Axis{Label: "Percentile"}, Y: figure.Axis{Label: "Latency", Unit: "ms", Log: true},
	}
}

// withDoubts explains dotted lines, if there are any.
func withDoubts(f figure.Figure) figure.Figure {
	if slices.ContainsFunc(f.Series, func(s figure.Series) bool { return slices.Contains(s.Uncertain, true) }) {
		f.Notes = append(f.Notes, "dotted: fewer than ten requests lie above the percentile")
	}
	return f
}

// cutNote explains lines that end below the highest percentile.
const cutNote = "a line ends where the percentiles are those of requests that were not answered"

// addSpectrum adds the percentiles of a distribution up to the last with a request
// above it, or that of the slowest request that ended ok.
func addSpectrum(f *figure.Figure, s figure.Series, d *run.Distribution) {
	for _, q := range []float64{0, .1, .25, .5, .6, .7, .75, .8, .85, .9, .925, .95, .97, .98, .99, .993, .995, .997, .998, .999, .9995, .9998, .9999, .99995, .99999, .999999} {
		if d.N.Value*(1-q) < 1 {
			break
		}
		m := d.Quantile(q)
		if m.AtLeast() || m.Words != "" {
			if !slices.Contains(f.Notes, cutNote) {
				f.Notes = append(f.Notes, cutNote)
			}
			break
		}
		if !m.Known() {
			continue
		}
		s.X = append(s.X, math.Round(q*1e8)/1e6)
		s.Y = append(s.Y, m.Value)
		s.Uncertain = append(s.Uncertain, m.Marked(run.FewMark))
	}
	if len(s.X) > 0 {
		f.Series = append(f.Series, s)
	}
}
