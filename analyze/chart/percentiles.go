package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

// mostLines limits the lines in a figure: more could not be told apart.
const mostLines = 8

// percentileFigures show the latency at every percentile, giving the tail as much room as the
// middle. If the steps in a load differ, each kind of step has a line with its own shade and
// marker, unless there would be too many lines over all databases: then only the figures by step
// show them.
func percentileFigures(d *Data) []figure.Figure {
	f := d.percentiles("LATENCY-PERCENTILES", "Latency by percentile")
	stages, staged := 0, false
	for _, g := range d.groups() {
		stages, staged = stages+len(g.Runs[0].Stages), staged || g.Runs[0].Staged()
	}
	staged = staged && stages <= mostLines
	marker, variants := 0, map[int]int{}
	for _, g := range d.groups() {
		first := g.Runs[0]
		if first.Staged() && !staged {
			continue
		}
		for _, stage := range first.Stages {
			s := d.together(g)
			if first.Staged() {
				s.Name += ", " + stage.Label
			}
			if staged {
				marker++
				s.Variant, s.Marker = variants[s.Key], marker
				variants[s.Key]++
			}
			service := s
			if stage.Latency.Rated() {
				s.Name += ", response"
			}
			service.Name, service.Thin, service.Dash = service.Name+", service", true, figure.Dashed
			d.addSpectra(&f, s, g, partLabel(stage), func(g *run.Stage) *run.Distribution { return g.Latency.Due })
			d.addSpectra(&f, service, g, partLabel(stage), func(g *run.Stage) *run.Distribution { return g.Latency.Service })
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{withDoubts(f)}
}

// partFigures show each database's percentiles by kind of step and by operation. All lines have the
// database's colour.
func partFigures(d *Data) (out []figure.Figure) {
	for _, g := range d.groups() {
		r, name := g.Runs[0], g.Title()
		steps := d.percentiles("LATENCY-PERCENTILES-BY-STEP-"+run.FileTag(r.Info.Tag), "Latency by percentile, "+name+" by step")
		operations := d.percentiles("LATENCY-PERCENTILES-BY-OPERATION-"+run.FileTag(r.Info.Tag), "Latency by percentile, "+name+" by operation")
		for i, stage := range r.Stages {
			d.addSpectra(&steps, d.part(r, stage.Label, i), g, partLabel(stage), func(g *run.Stage) *run.Distribution { return g.Latency.Due })
			if !r.Mixed() {
				continue
			}
			for _, o := range stage.Operations {
				s := d.part(r, o.Operation, len(operations.Series))
				if r.Staged() {
					s.Name += ", " + stage.Label
				}
				if one := ofOperation(g, partLabel(stage), o.Operation); one.N.Known() {
					addSpectrum(&operations, s, one)
				}
			}
		}
		for _, f := range []figure.Figure{steps, operations} {
			if n := lines(f); n > 1 && n <= mostLines {
				out = append(out, withDoubts(f))
			}
		}
	}
	return out
}

// lines counts the lines in a figure, without details.
func lines(f figure.Figure) (n int) {
	for _, s := range f.Series {
		if !s.Detail {
			n++
		}
	}
	return n
}

// ofOperation returns the requests of one operation in the stages with a label, over all trials.
func ofOperation(g trials.Group, label, operation string) *run.Distribution {
	return pooled(g, label, func(g *run.Stage) *run.Distribution {
		for _, o := range g.Operations {
			if o.Operation == operation {
				return run.DueDistribution(&o.Summary)
			}
		}
		return run.Unmeasured("the trial had no such operation")
	})
}

// statisticTogether names percentiles over the requests in all trials in CSV files.
const statisticTogether = "of all trials together"

// addSpectra adds the percentiles over the requests in all trials, with a band from the lowest to
// the highest trial, and the trials themselves as details.
func (d *Data) addSpectra(f *figure.Figure, s figure.Series, g trials.Group, label string, of func(*run.Stage) *run.Distribution) {
	before := len(f.Series)
	addSpectrum(f, s, pooled(g, label, of))
	if len(g.Runs) == 1 || len(f.Series) == before {
		return
	}
	all := &f.Series[before]
	all.Statistic = statisticTogether
	all.Low, all.High = make([]float64, len(all.X)), make([]float64, len(all.X))
	for i := range all.X {
		all.Low[i], all.High[i] = math.NaN(), math.NaN()
	}
	var details []figure.Series
	for n, r := range g.Runs {
		var one figure.Figure
		empty := s
		empty.Name = d.line(r).Name + strings.TrimPrefix(s.Name, g.Title())
		if s.Name == label { // in a figure about this database alone
			empty.Name = fmt.Sprintf("%s, trial %d", label, n+1)
		}
		addSpectrum(&one, empty, pooled(trials.Group{Name: g.Name, Runs: []*run.Run{r}}, label, of))
		for _, own := range one.Series {
			for i, x := range all.X {
				if at := slices.Index(own.X, x); at >= 0 {
					all.Low[i], all.High[i] = lesser(all.Low[i], own.Y[at]), greater(all.High[i], own.Y[at])
				}
			}
			details = append(details, part{Series: own, trial: n + 1}.detail())
		}
	}
	f.Series = append(f.Series, details...)
	f.Band = cmp.Or(f.Band, fmt.Sprintf("%d trials together, and their range", len(g.Runs)))
}

// lesser and greater ignore the first value if it is a gap.
func lesser(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return min(a, b)
}

func greater(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return max(a, b)
}

// percentiles returns an empty percentile figure.
func (d *Data) percentiles(name, what string) figure.Figure {
	return figure.Figure{
		Name: name, Short: what, Kind: figure.Percentiles,
		X: figure.Axis{Label: "Percentile"}, Y: figure.Axis{Label: "Latency", Unit: "ms", Log: true},
	}
}

// withDoubts explains dotted lines if there are any.
func withDoubts(f figure.Figure) figure.Figure {
	if slices.ContainsFunc(f.Series, func(s figure.Series) bool { return slices.Contains(s.Uncertain, true) }) {
		f.Notes = append(f.Notes, "dotted: fewer than ten requests lie above the percentile")
	}
	return f
}

// cutNote explains lines that end below the highest percentile.
const cutNote = "a line ends where the percentiles fall on requests that were not answered"

// addSpectrum adds the percentiles of a distribution up to the last one with a request above it, or
// up to the slowest ok request.
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
