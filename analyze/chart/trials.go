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
	"github.com/coreos/dbtester/pkg/stats/order"
)

// Figures show the trials of a database as one line: the median at each position, with a band from
// the lowest to the highest trial. The trials themselves are details.

// groups returns the groups of runs that figures show as one, ordered by their first runs.
func (d *Data) groups() []trials.Group {
	if d.grouped == nil {
		d.grouped = trials.Groups(d.Runs)
	}
	return d.grouped
}

// repeated reports whether any database has several trials.
func (d *Data) repeated() bool { return len(d.groups()) < len(d.Runs) }

// several reports whether runs belong to several databases, so that marks need colours.
func (d *Data) several(runs []*run.Run) bool {
	return slices.ContainsFunc(runs, func(r *run.Run) bool { return d.place(r) != d.place(runs[0]) })
}

// placing returns a position for the n-th point in the i-th run. Points from trials with the same
// position belong together.
type placing func(i, n int, x float64) float64

// sameX joins points with the same X.
func sameX(_, _ int, x float64) float64 { return x }

// sameOrder joins the first points, the second points, and so on.
func sameOrder(_, n int, _ float64) float64 { return float64(n) }

// sameSecond joins the first unix seconds of the loads, their second ones, and so on.
func (d *Data) sameSecond(i, _ int, x float64) float64 {
	r := d.Runs[i]
	return math.Floor(x - elapsed(r, r.Start()*1e9) + 1e-6)
}

// add adds lines. of makes the lines for a run from an empty series. Lines for a single run are
// added as they are; trials are added as their median, with each trial as a detail. Trials' lines
// belong together if their names are equal after the run's name.
func (d *Data) add(f *figure.Figure, place placing, of func(i int, s figure.Series) []figure.Series) {
	for _, g := range d.groups() {
		var names []string
		parts := map[string][]part{}
		for n, r := range g.Runs {
			i, empty := slices.Index(d.Runs, r), d.line(r)
			for _, s := range of(i, empty) {
				name := strings.TrimPrefix(s.Name, empty.Name)
				if parts[name] == nil {
					names = append(names, name)
				}
				parts[name] = append(parts[name], part{s, n + 1, i})
			}
		}
		for _, name := range names {
			if len(g.Runs) == 1 {
				f.Series = append(f.Series, parts[name][0].Series)
				continue
			}
			f.Series = append(f.Series, median(g, name, parts[name], place))
			for _, p := range parts[name] {
				f.Series = append(f.Series, p.detail())
			}
			f.Band = cmp.Or(f.Band, bandText(len(g.Runs)))
		}
	}
}

// bandText explains the line and the band for n trials.
func bandText(n int) string {
	return fmt.Sprintf("median and range of %d trials", n)
}

// part is the line from one trial; i is the index of the run.
type part struct {
	figure.Series
	trial, i int
}

// detail returns the line as drawn behind the median.
func (p part) detail() figure.Series {
	s := p.Series
	s.Detail, s.Trial, s.Thin, s.Marker = true, p.trial, true, p.trial
	return s
}

// statisticMedian names the median over trials in CSV files.
const statisticMedian = "median"

// median merges the trials' lines. A position has a value only if more than half the trials have
// one there: where the slowest trial ends would not be a median.
func median(g trials.Group, name string, parts []part, place placing) figure.Series {
	s := parts[0].Series
	s.Name, s.Statistic = g.Title()+name, statisticMedian
	s.X, s.Y, s.Low, s.High, s.Partial, s.Uncertain, s.Labels = nil, nil, nil, nil, nil, nil, nil
	var points []placed
	for i, p := range parts {
		for n := range p.X {
			points = append(points, placed{place(p.i, n, p.X[n]), i, n})
		}
	}
	slices.SortStableFunc(points, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	labelled, partial := false, false
	var j joiner
	for first, end := 0, 0; first < len(points); first = end {
		j.all = j.all[:0]
		for ; end < len(points) && points[end].at == points[first].at; end++ {
			j.all = append(j.all, parts[points[end].part].spot(points[end].n))
		}
		one := j.point(len(g.Runs))
		labelled, partial = labelled || one.label != "", partial || one.partial
		s.X, s.Y, s.Low, s.High = append(s.X, one.x), append(s.Y, one.y), append(s.Low, one.low), append(s.High, one.high)
		s.Partial, s.Labels = append(s.Partial, one.partial), append(s.Labels, one.label)
	}
	if !labelled {
		s.Labels = nil
	}
	if !partial {
		s.Partial = nil
	}
	return s
}

// spot is a point on a line, with its bounds.
type spot struct {
	x, y, low, high float64
	partial         bool
	label           string
}

func (p part) spot(n int) spot {
	one := spot{x: p.X[n], y: p.Y[n], low: p.Y[n], high: p.Y[n], partial: p.Partial != nil && p.Partial[n]}
	if p.Low != nil {
		one.low, one.high = p.Low[n], p.High[n]
	}
	if p.Labels != nil {
		one.label = p.Labels[n]
	}
	return one
}

// placed is the n-th point in a part and its position.
type placed struct {
	at      float64
	part, n int
}

// joiner joins the trials' points at one position. It keeps its memory from one position to the
// next, because a line has thousands.
type joiner struct {
	all, known, whole []spot
	values            []float64
}

// point is the median over all, the points from n trials at one position. Partial seconds count
// only if more than half the trials have nothing else.
func (j *joiner) point(n int) spot {
	all := j.all
	j.known = slices.DeleteFunc(append(j.known[:0], all...), func(p spot) bool { return math.IsNaN(p.y) })
	j.whole = slices.DeleteFunc(append(j.whole[:0], j.known...), func(p spot) bool { return p.partial })
	known, whole := j.known, j.whole
	out := spot{x: j.median(all, func(p *spot) float64 { return p.x }), y: math.NaN(), low: math.NaN(), high: math.NaN(), label: all[0].label}
	if 2*len(known) <= n {
		return out
	}
	out.partial = 2*len(whole) <= n
	if !out.partial {
		known = whole
	}
	out.x, out.y = j.median(known, func(p *spot) float64 { return p.x }), j.median(known, func(p *spot) float64 { return p.y })
	out.low, out.high = known[0].low, known[0].high
	for _, p := range known {
		out.low, out.high = min(out.low, p.low), max(out.high, p.high)
	}
	return out
}

func (j *joiner) median(all []spot, of func(*spot) float64) float64 {
	j.values = j.values[:0]
	for i := range all {
		j.values = append(j.values, of(&all[i]))
	}
	slices.Sort(j.values)
	return order.Middle(j.values)
}
