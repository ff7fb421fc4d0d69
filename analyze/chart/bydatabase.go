package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

// glanced is the number of lines over time that readers can distinguish at a glance.
const glanced = 4

// databaseFigures show throughput and the 99th latency percentile for full-speed loads with a
// single stage: a bar per database, and a dot per trial. They are left out if lines over time
// answer the question as well, or if the experiment is about changes in the course of the load.
func databaseFigures(d *Data) []figure.Figure {
	groups := d.groups()
	if len(groups) < 2 || !d.repeated() && len(groups) <= glanced || len(d.Sweeps) > 0 || slices.ContainsFunc(d.Runs, inCourse) {
		return nil
	}
	throughput := d.databaseFigure("THROUGHPUT-BY-DATABASE", "Throughput", figure.Axis{Label: "Throughput", Unit: "requests/s"},
		func(g *run.Stage) run.Measure { return g.Throughput.Average })
	p99 := d.databaseFigure("P99-BY-DATABASE", "99th percentile of latency", figure.Axis{Label: "Latency, 99th percentile", Unit: "ms"},
		func(g *run.Stage) run.Measure { return g.Latency.Due.Quantile(.99) })
	return []figure.Figure{throughput, p99}
}

// inCourse reports whether a run has several steps or a rate, or is meant to lose a member.
func inCourse(r *run.Run) bool {
	return len(r.Stages) != 1 || r.Rated() || r.Info.Record.Load.Expect.LostServers > 0
}

// databaseFigure draws the medians over trials as bars.
func (d *Data) databaseFigure(name, short string, y figure.Axis, of func(*run.Stage) run.Measure) figure.Figure {
	f := figure.Figure{Name: name, Short: short, Kind: figure.Bars, Y: y}
	bars := figure.Series{Name: y.Label}
	var most int
	for _, g := range d.groups() {
		most = max(most, len(g.Runs))
	}
	dots := make([]figure.Series, most)
	for i := range dots {
		dots[i] = figure.Series{Name: fmt.Sprintf("trial %d", i+1), Detail: true, Trial: i + 1}
	}
	for _, g := range d.groups() {
		l := d.together(g)
		f.Categories, bars.Hues = append(f.Categories, l.Name), append(bars.Hues, figure.Hue{Key: l.Key, Variant: l.Variant})
		var known []float64
		for i := range dots {
			v := math.NaN()
			if i < len(g.Runs) {
				v = pointOf(of(g.Runs[i].Stages[0]))
			}
			if !math.IsNaN(v) {
				known = append(known, v)
			}
			dots[i].Y = append(dots[i].Y, v)
		}
		median := math.NaN()
		if len(known) > 0 {
			median = trials.SpreadOf(known).Median
		}
		bars.Y = append(bars.Y, median)
	}
	f.Series = []figure.Series{bars}
	if most > 1 {
		f.Series[0].Statistic = statisticMedian
		f.Series = append(f.Series, dots...)
		f.Subtitle = fmt.Sprintf("Bar: median of %d trials, each a dot", most)
	}
	return f
}
