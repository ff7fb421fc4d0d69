package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/histogram"
)

// rowsPerDecade is the number of rows for each power of ten.
const rowsPerDecade = 16

// heatFigures show a heat map of each database, all on the same axes and in the same
// shades, so that they can be compared.
func heatFigures(d *Data) (out []figure.Figure) {
	rows := rowRange{math.MaxInt, math.MinInt}
	for _, r := range d.Runs {
		rows = rows.and(rowsWith(r.Heat))
	}
	for _, r := range d.Runs {
		if len(r.Heat.Bins) == 0 {
			continue
		}
		f := figure.Figure{
			Name: heatName + run.FileTag(r.Info.Tag), Short: "Latency heat map, " + r.Info.Name(), Kind: figure.Heat,
			X: timeAxis(), Y: figure.Axis{Label: "Latency", Unit: "ms", Log: true},
			Steps: boundaries(r),
		}
		if f.Grey = phases(r); len(f.Grey) > 0 {
			f.Notes = append(f.Notes, greyNote)
		}
		d.markStops(&f, r)
		d.markEvents(&f, r)
		f.Grid, f.Series = grid(r.Heat, elapsed(r, r.Start()*1e9), rows)
		if r.Heat.Seconds > 1 {
			f.Subtitle = fmt.Sprintf("The requests answered ok in every %d seconds, by their latency", r.Heat.Seconds)
		} else {
			f.Subtitle = "The requests answered ok in every second, by their latency"
		}
		if slices.ContainsFunc(f.Series[1].Y, math.IsNaN) {
			f.Notes = append(f.Notes, fmt.Sprintf("%s has gaps where fewer than ten requests lie above it", f.Series[1].Name))
		}
		out = append(out, f)
	}
	shareScales(out)
	return out
}

// shareScales gives all heat maps the same axes and shades. Counts of bins of different
// lengths cannot be compared: then the shades are each one's own.
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

// rowRange is a range of rows, both ends included.
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

// grid returns the cells of a heat map, and over them the median and a high percentile
// of each bin. The first bin's second begins at start on the time axis.
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
		p50.Y = append(p50.Y, percentileOf(b, .50))
		upper.Y = append(upper.Y, percentileOf(b, tail))
	}
	return g, []figure.Series{p50, upper}
}

// tail returns the highest percentile that enough requests of most bins support.
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

// percentileOf returns a percentile in ms, a gap if too few requests support it.
func percentileOf(b histogram.Buckets, q float64) float64 {
	if b == nil || !histogram.Enough(q, b.Total()) {
		return math.NaN()
	}
	return float64(b.Quantile(q)) / 1e6
}

// rowsOf counts the latencies of a bin in the rows from low to high.
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

// latencyRow returns the row of a latency in nanoseconds.
func latencyRow(ns int64) int {
	return int(math.Floor(math.Log10(float64(max(ns, 1))) * rowsPerDecade))
}
