package chart

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

// boxFigures show the latencies in each stage as boxes, from histograms with all its requests.
func boxFigures(d *Data) []figure.Figure {
	f := figure.Figure{
		Name: "LATENCY-BOXES", Short: "Latency, boxes", Kind: figure.Bars,
		Subtitle: "Of all measured requests answered ok: box from the 25th to the 75th percentile with the median, line to the 99th, whiskers from the shortest to the longest",
		Y:        figure.Axis{Label: "Latency", Unit: "ms", Log: true},
	}
	for _, r := range d.Runs {
		for _, g := range r.Stages {
			if label := partLabel(g); !slices.Contains(f.Categories, label) {
				f.Categories = append(f.Categories, label)
			}
		}
	}
	if len(f.Categories) > mostBoxes {
		return nil
	}
	known := false
	for _, g := range d.groups() {
		s := d.together(g)
		for _, label := range f.Categories {
			median, box := boxOf(pooled(g, label, func(g *run.Stage) *run.Distribution { return g.Latency.OK }))
			known = known || !math.IsNaN(median)
			s.Y, s.Boxes = append(s.Y, median), append(s.Boxes, box)
		}
		f.Series = append(f.Series, s)
	}
	if d.repeated() {
		f.Subtitle += ". The requests of all trials together"
	}
	if !known {
		return nil
	}
	return []figure.Figure{f}
}

// mostBoxes limits the groups of boxes, because a page has no room for more.
const mostBoxes = 12

// partLabel names a stage.
func partLabel(g *run.Stage) string {
	if g.Label == "" {
		return "whole load"
	}
	return g.Label
}

// pooled returns the distribution over all trials of a database, for the stages with a label. It
// returns a single distribution unchanged, and nil without any.
func pooled(g trials.Group, label string, of func(*run.Stage) *run.Distribution) *run.Distribution {
	var all []*run.Distribution
	for _, r := range g.Runs {
		if at := slices.IndexFunc(r.Stages, func(g *run.Stage) bool { return partLabel(g) == label }); at >= 0 {
			all = append(all, of(r.Stages[at]))
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return run.Pooled(all)
}

func boxOf(l *run.Distribution) (median float64, box figure.Box) {
	q := func(q float64) float64 { return l.Quantile(q).Float() }
	return q(.5), figure.Box{Least: l.Min.Float(), Low: q(.25), High: q(.75), P99: q(.99), Most: l.Max.Float()}
}
