package table

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coreos/dbtester/analyze/run"
	humanize "github.com/dustin/go-humanize"
)

// bucket is one bar in a histogram: the latencies above the end of the previous bucket, up to its
// own end in ms.
type bucket struct {
	to    float64
	count int64
}

// mostBuckets limits the bars in a histogram.
const mostBuckets = 11

// buckets divides the latencies into equal steps from the fastest to the slowest. If p99.9 is
// certain, the steps end there and a last bucket holds the rest: otherwise a few slow requests
// would squeeze all others into one bar.
func buckets(l *run.Latency) []bucket {
	h, d := l.Histogram, l.OK
	if h == nil || h.TotalCount() == 0 || !d.Min.Known() || !d.Max.Known() {
		return nil
	}
	least, most := d.Min.Value, d.Max.Value
	steps, top := mostBuckets, most
	if m := d.Quantile(.999); m.Known() && !m.Marked(run.FewMark) && m.Value < most {
		steps, top = mostBuckets-1, m.Value
	}
	if top <= least {
		steps = 1
	}
	var list []bucket
	for i := range steps {
		list = append(list, bucket{to: least + (top-least)*float64(i+1)/float64(steps)})
	}
	list[steps-1].to = top // undo the rounding
	if top < most {
		list = append(list, bucket{to: most})
	}
	fill(list, h, least)
	return list
}

// fill counts the values in h. Each value counts as the upper end of its histogram bucket, as in
// percentiles, clipped to the exact bounds.
func fill(list []bucket, h *hdrhistogram.Histogram, least float64) {
	most := list[len(list)-1].to
	for _, bar := range h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		ms := min(max(float64(bar.To)/1e6, least), most)
		at := slices.IndexFunc(list, func(b bucket) bool { return ms <= b.to })
		list[at].count += bar.Count
	}
}

// barWidth is the greatest bar length in characters.
const barWidth = 40

// drawBuckets draws a histogram, one line per bucket.
func drawBuckets(list []bucket) []string {
	if len(list) == 0 {
		return []string{"not recorded"}
	}
	most, edge, digits := int64(1), 0, 0
	for _, b := range list {
		most = max(most, b.count)
		edge = max(edge, len(fmt.Sprintf("%.3f", b.to)))
		digits = max(digits, len(humanize.Comma(b.count)))
	}
	var lines []string
	for _, b := range list {
		bar := int(math.Round(float64(b.count) / float64(most) * barWidth))
		if b.count > 0 {
			bar = max(bar, 1) // make a few requests visible
		}
		line := fmt.Sprintf("<= %*.3f [%*s] |%s", edge, b.to, digits, humanize.Comma(b.count), strings.Repeat("#", bar))
		lines = append(lines, line)
	}
	return lines
}
