package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// Summary returns every column as the command line tools that benchmark HTTP
// servers print a run: a few totals, a histogram, percentiles, outcomes. The
// numbers are those of the table.
func (r *Report) Summary() string { return r.summary }

// summaries are the summaries of columns, one below the other.
func summaries(columns []*column) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, c.summary())
	}
	return strings.Join(parts, "\n")
}

// summary is one column as a text.
func (c *column) summary() string {
	var b strings.Builder
	title := c.header().Text
	if op := operation(c); op.Missing == "" {
		title += ", " + op.Text
	}
	fmt.Fprintf(&b, "%s\n\nSummary:\n", title)
	for _, line := range c.summaryTotals() {
		fmt.Fprintf(&b, "  %-16s %s\n", line.name+":", line.text)
	}
	clock := "from sent to answered"
	if c.rated() {
		clock = "from due to answered"
	}
	fmt.Fprintf(&b, "\nResponse time histogram of requests answered ok, ms %s:\n", clock)
	for _, line := range drawBuckets(c.buckets()) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "\nLatency distribution:\n")
	few := false
	for _, p := range percentiles {
		if p.q > .999 {
			break // that is for the table
		}
		cell := percentile(c.latency, p.q)
		few = few || slices.Contains(cell.Marks, fewMark)
		fmt.Fprintf(&b, "  %4s %% in %s\n", p.name[1:], cell.Text)
	}
	if few {
		fmt.Fprintf(&b, "  %s\n", fewMark)
	}
	fmt.Fprintf(&b, "\nOutcomes, whole load:\n")
	for _, line := range c.outcomeLines() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}

// named is one line of a summary.
type named struct{ name, text string }

// summaryTotals are the lines on top: of the measured population, but for the
// bytes, which are of the whole load.
func (c *column) summaryTotals() []named {
	lines := []named{
		{"Total", elapsedCell(c).Text},
		{"Slowest", millis(c.latency, c.latency.max).Text},
		{"Fastest", millis(c.latency, c.latency.min).Text},
		{"Average", millis(c.latency, c.latency.mean).Text},
		{"Requests/sec", strings.TrimSuffix(averageThroughput(c).Text, " req/sec")},
	}
	l := c.run.Load
	if n := c.counts.OK; (l.Operation == "write" || l.Operation == "update") && !c.uncounted() {
		each := fmt.Sprintf("%s B of key + %s B of value each", humanize.Comma(int64(l.KeySize)), sizesText(l))
		if l.ValueSizeMax == 0 && n >= 0 {
			each = fmt.Sprintf("%s B in %s answered requests, %s", humanize.Comma(n*int64(l.KeySize+l.ValueSize)), humanize.Comma(n), each)
		}
		lines = append(lines, named{"Data sent", each})
	}
	if c.counts.BytesRead > 0 {
		lines = append(lines, named{"Data received", humanize.Comma(c.counts.BytesRead) + " B of values"},
			named{"Bytes/response", bytesPerResponse(c).Text})
	}
	return lines
}

// sizesText are the sizes of a load's values in bytes.
func sizesText(l results.Load) string {
	if l.ValueSizeMax > 0 {
		return fmt.Sprintf("%s to %s", humanize.Comma(int64(l.ValueSize)), humanize.Comma(int64(l.ValueSizeMax)))
	}
	return humanize.Comma(int64(l.ValueSize))
}

// bytesPerResponse is the mean size of the values that reads returned.
func bytesPerResponse(c *column) Cell {
	switch {
	case c.classic:
		return inapplicable(unheld)
	case c.run.Totals == nil && c.reads > 0:
		return missing("only the totals at the end of a run have the bytes that were read")
	case c.counts.BytesRead > 0 && c.reads == 0:
		return missing("%s", c.why(results.FileIntervals, "the number of reads was not recorded"))
	case c.reads == 0:
		return inapplicable("no value was read")
	}
	mean := float64(c.counts.BytesRead) / float64(c.reads)
	return number(mean, c.reads, "%s B", humanize.CommafWithDigits(math.Round(mean*100)/100, 2))
}

// okReads counts the requests whose answers held values, all phases.
func okReads(intervals []results.Interval) (n int64) {
	for i := range intervals {
		switch intervals[i].Operation {
		case "read", "read-oneshot", "swap", "range":
			n += intervals[i].OK
		}
	}
	return n
}

// bucket is one bar of a histogram: the latencies above the bucket before it, up
// to its end in milliseconds.
type bucket struct {
	to    float64
	count int64
}

// mostBuckets is how many bars a histogram has at most.
const mostBuckets = 11

// buckets are the latencies in equal steps from the fastest to the slowest. Where
// p99.9 is known the steps end there and one more bucket holds the rest, which
// would squeeze all others together.
func (c *column) buckets() []bucket {
	h, d := c.histogram, c.latency
	if h == nil || h.TotalCount() == 0 || math.IsNaN(d.min) || math.IsNaN(d.max) {
		return nil
	}
	steps, top := mostBuckets, d.max
	if v, why := d.quantile(.999); why == "" && !v.few && v.ms < d.max {
		steps, top = mostBuckets-1, v.ms
	}
	if top <= d.min {
		steps = 1
	}
	var list []bucket
	for i := range steps {
		list = append(list, bucket{to: d.min + (top-d.min)*float64(i+1)/float64(steps)})
	}
	list[steps-1].to = top // rounding must not move it
	if top < d.max {
		list = append(list, bucket{to: d.max})
	}
	fill(list, h, d.min)
	return list
}

// fill counts the values of h. What a histogram does not tell apart counts as the
// largest of it, as in percentiles, within the exact bounds.
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

// barWidth is the length of the longest bar in characters.
const barWidth = 40

// drawBuckets is a histogram as text, a line for each bucket.
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
			bar = max(bar, 1) // few are not none
		}
		line := fmt.Sprintf("<= %*.3f [%*s] |%s", edge, b.to, digits, humanize.Comma(b.count), strings.Repeat("#", bar))
		lines = append(lines, line)
	}
	return lines
}

// outcomeLines are the requests by their end, and the errors by class.
func (c *column) outcomeLines() []string {
	t := c.counts
	var lines []string
	for _, one := range []struct {
		name   string
		n      int64
		always bool
	}{
		{"ok", t.OK, true}, {"failed", t.Failed, true}, {"unknown", t.Unknown, true},
		{"shed", t.Shed, false}, {"unsent", t.Unsent, false},
	} {
		switch cell := countCell(c, one.n); {
		case one.n == 0 && !one.always, one.n < 0 && !one.always:
		case one.n > 0 && t.Offered > 0:
			lines = append(lines, fmt.Sprintf("%-9s %s (%.4g %%)", "["+one.name+"]", cell.Text, 100*float64(one.n)/float64(t.Offered)))
		default:
			lines = append(lines, fmt.Sprintf("%-9s %s", "["+one.name+"]", cell.Text))
		}
	}
	for _, e := range c.errors {
		lines = append(lines, fmt.Sprintf("by class: %s %s", e.class, humanize.Comma(e.count)))
	}
	return lines
}
