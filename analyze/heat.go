package analyze

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/results"
)

// heat are the ok latencies of a load by the time they ended in, all operations
// and phases together, in bins of equal seconds.
type heat struct {
	seconds int64 // of a bin
	bins    map[int64]*hdrhistogram.Histogram
}

// mostBins is how many columns of a heat map can be told apart.
const mostBins = 120

// rowsPerDecade is how many rows a heat map has for each power of ten.
const rowsPerDecade = 16

// readHeat reads the latency log by the timing that the table uses. It is read
// line by line into a bounded number of histograms, for a log may be of hours.
func (c *column) readHeat(path string, expected bool) heat {
	length := (c.window.to - c.window.from) / 1e9
	h := heat{seconds: binSeconds(length), bins: map[int64]*hdrhistogram.Histogram{}}
	for line, err := range results.ReadLatency(path) {
		if err != nil {
			if expected || !errors.Is(err, fs.ErrNotExist) {
				c.gap("%s", problem(path, err))
			}
			break
		}
		s, err := results.ParseSeries(line.Tag)
		if err != nil || s.Outcome != results.OK || s.Timing != c.run.Timing(s.Step) {
			continue
		}
		bin := floorDiv(line.Start.Unix()-c.loadStart(), h.seconds)
		if h.bins[bin] == nil {
			h.bins[bin] = results.NewHistogram()
		}
		h.bins[bin].Merge(line.Histogram)
	}
	return h
}

// binSeconds is the least round number of seconds that divides so many into few
// enough bins.
func binSeconds(length int64) int64 {
	for _, n := range []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800} {
		if length <= n*mostBins {
			return n
		}
	}
	return 3600 * (length/(3600*mostBins) + 1)
}

// heatFigures are a heat map for each database.
func (d *document) heatFigures() (out []figure.Figure) {
	for _, c := range d.columns {
		if len(c.heat.bins) == 0 {
			continue
		}
		f := figure.Figure{
			Name: "LATENCY-HEAT-" + fileTag(c.tag), Title: d.title("Latency Heat Map, " + c.tag), Kind: figure.Heat,
			X: figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Latency", Unit: "millisecond", Log: true},
			Steps: c.boundaries(),
		}
		f.Grid, f.Series = c.heat.grid(c.key)
		if c.heat.seconds > 1 {
			f.Subtitle = fmt.Sprintf("The requests answered ok in every %d seconds, by their latency", c.heat.seconds)
		} else {
			f.Subtitle = "The requests answered ok in every second, by their latency"
		}
		out = append(out, f)
	}
	return out
}

// grid is the heat map's cells, with the median and a high percentile of each bin over them.
func (h heat) grid(key int) (*figure.Grid, []figure.Series) {
	first, last := h.span()
	low, high := math.MaxInt, math.MinInt
	for _, b := range h.bins {
		low, high = min(low, latencyRow(b.Min())), max(high, latencyRow(b.Max()))
	}
	g := &figure.Grid{Of: "requests", Key: key}
	for row := low; row <= high+1; row++ {
		g.Y = append(g.Y, math.Pow(10, float64(row)/rowsPerDecade)/1e6)
	}
	tail, name := h.tail()
	p50, upper := figure.Series{Name: "p50"}, figure.Series{Name: name, Dash: figure.Dashed}
	for bin := first; bin <= last+1; bin++ {
		g.X = append(g.X, float64(bin*h.seconds))
		if bin > last {
			break
		}
		b := h.bins[bin]
		g.Counts = append(g.Counts, rowsOf(b, low, high))
		p50.Y = append(p50.Y, percentileOf(b, .50))
		upper.Y = append(upper.Y, percentileOf(b, tail))
	}
	return g, []figure.Series{p50, upper}
}

// tail is the highest percentile that enough requests of most bins support.
func (h heat) tail() (q float64, name string) {
	for _, p := range []struct {
		q    float64
		name string
	}{{.99, "p99"}, {.95, "p95"}} {
		supported := 0
		for _, b := range h.bins {
			if results.Enough(p.q, b.TotalCount()) {
				supported++
			}
		}
		if 2*supported > len(h.bins) {
			return p.q, p.name
		}
	}
	return .90, "p90"
}

// percentileOf is a percentile in milliseconds, a gap if too few support it.
func percentileOf(b *hdrhistogram.Histogram, q float64) float64 {
	if b == nil || !results.Enough(q, b.TotalCount()) {
		return math.NaN()
	}
	return float64(results.Quantile(b, q)) / 1e6
}

// rowsOf counts a bin's latencies in the rows from low to high.
func rowsOf(b *hdrhistogram.Histogram, low, high int) []float64 {
	rows := make([]float64, high-low+1)
	if b == nil {
		return rows
	}
	for _, bar := range b.Distribution() {
		if bar.Count > 0 {
			rows[max(latencyRow(bar.From)-low, 0)] += float64(bar.Count)
		}
	}
	return rows
}

// span are the first and the last bin that have requests.
func (h heat) span() (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for bin := range h.bins {
		first, last = min(first, bin), max(last, bin)
	}
	return first, last
}

// latencyRow is the row of a latency in nanoseconds.
func latencyRow(ns int64) int {
	return int(math.Floor(math.Log10(float64(max(ns, 1))) * rowsPerDecade))
}
