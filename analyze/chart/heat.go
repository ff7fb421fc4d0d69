package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// rowsPerDecade is the number of rows for a power of ten.
const rowsPerDecade = 16

// heatFigures draw a heat map for each database, all with the same axes and shades so that they can
// be compared.
func heatFigures(d *Data) (out []figure.Figure) {
	rows := rowRange{math.MaxInt, math.MinInt}
	for _, r := range d.Runs {
		rows = rows.and(rowsWith(r.Heat))
	}
	for _, g := range d.groups() {
		r, h := g.Runs[0], heatOf(g)
		if len(h.Bins) == 0 {
			continue
		}
		f := figure.Figure{
			Name: heatName + run.FileTag(r.Info.Tag), Short: "Latency heat map, " + g.Title(), Kind: figure.Heat,
			X: timeAxis(), Y: figure.Axis{Label: "Latency", Unit: "ms", Log: true},
			Steps: shortened(boundariesOf(g)),
		}
		if f.Grey, _ = phasesOf(g); len(f.Grey) > 0 {
			f.Notes = append(f.Notes, greyNote)
		}
		d.markStops(&f, g.Runs...)
		d.markEvents(&f, g.Runs...)
		f.Grid, f.Series = grid(h, elapsed(r, r.Start()*1e9), rows)
		every := "second"
		if h.Seconds > 1 {
			every = fmt.Sprintf("%d seconds", h.Seconds)
		}
		f.Subtitle = fmt.Sprintf("The requests answered ok in every %s, by their latency", every)
		if n := len(g.Runs); n > 1 {
			f.Short += fmt.Sprintf(", %d trials", n)
			f.Subtitle += fmt.Sprintf(": %d trials together, each from its start", n)
		}
		if slices.ContainsFunc(f.Series[1].Y, math.IsNaN) {
			f.Notes = append(f.Notes, fmt.Sprintf("%s has gaps where fewer than ten requests lie above it", f.Series[1].Name))
		}
		out = append(out, f)
	}
	shareScales(out)
	return out
}

// heatOf adds up the heat maps from the trials of a database, each aligned to the second in which
// its load began. Bins with different lengths are merged into bins whose length is a common
// multiple.
func heatOf(g trials.Group) run.Heat {
	if len(g.Runs) == 1 {
		return g.Runs[0].Heat
	}
	out := run.Heat{Seconds: 1, Bins: map[int64]histogram.PackedBuckets{}}
	for _, r := range g.Runs {
		if len(r.Heat.Bins) > 0 {
			out.Seconds = leastCommonMultiple(out.Seconds, r.Heat.Seconds)
		}
	}
	parts := map[int64][]histogram.PackedBuckets{}
	for _, r := range g.Runs {
		for bin, packed := range r.Heat.Bins {
			at := bin * r.Heat.Seconds / out.Seconds
			parts[at] = append(parts[at], packed)
		}
	}
	var sum histogram.Sum // for one bin after another: a sum takes much memory
	for bin, list := range parts {
		for _, packed := range list {
			sum.Add(packed.Buckets())
		}
		if b := sum.Take(); b != nil {
			out.Bins[bin] = b.Pack()
		}
	}
	return out
}

func leastCommonMultiple(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// shareScales gives all heat maps the same axes and shades. Counts from bins with different lengths
// cannot be compared, so such maps get separate shades.
func shareScales(all []figure.Figure) {
	var least, most, end float64
	same := true
	for i, f := range all {
		x := f.Grid.X
		end = max(end, x[len(x)-1])
		same = same && x[1]-x[0] == all[0].Grid.X[1]-all[0].Grid.X[0]
		if l, m, ok := f.Grid.Extent(); ok {
			if most = max(most, m); i == 0 || l < least {
				least = l
			}
		}
	}
	for i := range all {
		f := &all[i]
		y := f.Grid.Y
		f.X.Min, f.X.Max, f.Y.Min, f.Y.Max = new(float64), &end, &y[0], &y[len(y)-1]
		if same && most > 0 {
			f.Grid.Least, f.Grid.Most = least, most
		}
		if len(all) > 1 && same {
			f.Notes = append(f.Notes, "all heat maps of this report have the same axes and shades")
		}
	}
}

// rowRange includes both ends.
type rowRange struct{ low, high int }

func (a rowRange) and(b rowRange) rowRange { return rowRange{min(a.low, b.low), max(a.high, b.high)} }

// rowsWith returns the rows in which a heat map has requests.
func rowsWith(h run.Heat) rowRange {
	rows := rowRange{math.MaxInt, math.MinInt}
	for _, packed := range h.Bins {
		b := packed.Buckets()
		rows = rows.and(rowRange{latencyRow(b.Min()), latencyRow(b.Max())})
	}
	return rows
}

// grid returns the cells of a heat map, and lines for the median and a high percentile in each bin.
// The first bin begins at start on the time axis.
func grid(h run.Heat, start float64, of rowRange) (*figure.Grid, []figure.Series) {
	first, last := span(h)
	low, high := of.low, of.high
	g := &figure.Grid{Of: "requests"}
	for row := low; row <= high+1; row++ {
		g.Y = append(g.Y, math.Pow(10, float64(row)/rowsPerDecade)/1e6)
	}
	tail, name := tail(h)
	p50, upper := figure.Series{Name: "p50"}, figure.Series{Name: name, Dash: figure.Dashed}
	for bin := first; bin <= last+1; bin++ {
		g.X = append(g.X, start+float64(bin*h.Seconds))
		if bin > last {
			break
		}
		b := h.Bins[bin].Buckets()
		g.Counts = append(g.Counts, rowsOf(b, low, high))
		p50.Y = append(p50.Y, run.QuantileMillis(b, .50))
		upper.Y = append(upper.Y, run.QuantileMillis(b, tail))
	}
	return g, []figure.Series{p50, upper}
}

// tail returns the highest percentile for which most bins have enough requests.
func tail(h run.Heat) (q float64, name string) {
	for _, p := range []struct {
		q    float64
		name string
	}{{.99, "p99"}, {.95, "p95"}} {
		supported := 0
		for _, b := range h.Bins {
			if histogram.Enough(p.q, b.Buckets().Total()) {
				supported++
			}
		}
		if 2*supported > len(h.Bins) {
			return p.q, p.name
		}
	}
	return .90, "p90"
}

// rowsOf counts the latencies in a bin in rows low to high.
func rowsOf(b histogram.Buckets, low, high int) []float64 {
	rows := make([]float64, high-low+1)
	if b == nil {
		return rows
	}
	for _, one := range b {
		rows[max(latencyRow(one.Value)-low, 0)] += float64(one.Count)
	}
	return rows
}

// span returns the first and the last bin with requests.
func span(h run.Heat) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for bin := range h.Bins {
		first, last = min(first, bin), max(last, bin)
	}
	return first, last
}

// latencyRow returns the row for a latency in nanoseconds.
func latencyRow(ns int64) int {
	return int(math.Floor(math.Log10(float64(max(ns, 1))) * rowsPerDecade))
}
