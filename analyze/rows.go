package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	humanize "github.com/dustin/go-humanize"
)

// row defines one row of the table.
type row struct {
	section                string
	name, unit, definition string
	// raw rows are left out of the text table.
	raw bool
	// ours are rows that the classic tool did not have: where its files say nothing,
	// nothing is missing.
	ours bool
	cell func(*column) Cell
}

// rows are the rows of the table: those of the classic tables first, in their
// order and with their names, then ours. A stepped load adds some for each step.
// Those that apply to no column are left out of the table; what was not measured
// stays in it, and says so.
func rows(columns []*column) []row {
	var all []row
	for _, part := range []struct {
		section string
		rows    []row
	}{
		{"Throughput and latency", slices.Concat(throughputRows(), latencyRows(), percentileRows())},
		{"Machines", slices.Concat(trafficRows(), peakRows(), diskRows())},
		{"More on latency", timingRows()},
		{"By operation", operationRows(columns)},
		{"By step", stepRows(columns)},
		{"Requests by their end", outcomeRows()},
		{"The client's own part", clientRows()},
		{"Members", memberRows()},
		{"Conditions", conditionRows()},
	} {
		for _, r := range part.rows {
			r.section = part.section
			all = append(all, r)
		}
	}
	return all
}

// missing is a cell without a value, and why.
func missing(format string, args ...any) Cell {
	return Cell{Text: "not measured", Missing: fmt.Sprintf(format, args...)}
}

// inapplicable is a cell that cannot have a value, and why: nothing is missing.
func inapplicable(format string, args ...any) Cell {
	return Cell{Text: noCell, Missing: fmt.Sprintf(format, args...)}
}

// unheld is why a cell cannot have a value.
const unheld = "classic files have no place for it"

// number is a cell of a value and its text.
func number(v float64, n int64, format string, args ...any) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return missing("not recorded")
	}
	return Cell{Text: fmt.Sprintf(format, args...), Value: &v, N: n}
}

// count is a cell of a whole number.
func count(v int64) Cell { return number(float64(v), 0, "%s", humanize.Comma(v)) }

// words is a cell without a number.
func words(s, otherwise string) Cell {
	if s == "" {
		return missing("%s", otherwise)
	}
	return Cell{Text: s}
}

// size is a cell of bytes, in decimal units as the classic tables print them.
func size(v float64, n int64) Cell { return number(v, n, "%s", humanSize(v)) }

func humanSize(v float64) string {
	if v < 0 || math.IsNaN(v) {
		return ""
	}
	return humanize.Bytes(uint64(math.Round(v)))
}

// perSecondText prints a rate of requests; slow ones keep their decimals.
func perSecondText(v float64) string {
	if v < 100 && v != math.Trunc(v) {
		return fmt.Sprintf("%.2f req/sec", v)
	}
	return humanize.Comma(int64(math.Round(v))) + " req/sec"
}

func throughputRows() []row {
	const whole = "; only seconds that lie wholly inside a step's measured window count"
	return []row{
		{name: "TOTAL-SECONDS", unit: "s", definition: "length of the measured window, summed over steps; connecting and closing are not in it",
			cell: func(c *column) Cell { return elapsedCell(c) }},
		{name: "TOTAL-REQUEST-NUMBER", unit: "requests", definition: "requests that were sent, whatever became of them",
			cell: sentCell},
		{name: "MAX-THROUGHPUT", unit: "requests/s", definition: "most requests answered ok in one second" + whole,
			cell: func(c *column) Cell { return extreme(c, math.Max) }},
		{name: "AVG-THROUGHPUT", unit: "requests/s", definition: "measured requests answered ok / TOTAL-SECONDS",
			cell: averageThroughput},
		{name: "MIN-THROUGHPUT", unit: "requests/s", definition: "fewest requests answered ok in one second" + whole,
			cell: func(c *column) Cell { return extreme(c, math.Min) }},
	}
}

func elapsedCell(c *column) Cell {
	if c.elapsed == 0 {
		return missing("%s", c.why(c.summaryFile(), "the start and end of the load were not recorded"))
	}
	return number(c.elapsed, 0, "%.4f sec", c.elapsed)
}

func averageThroughput(c *column) Cell {
	switch {
	case c.reported > 0:
		return number(c.reported, max(c.latency.n, 0), "%s", perSecondText(c.reported))
	case c.elapsed == 0:
		return elapsedCell(c)
	case c.latency.n < 0:
		return okCell(c)
	}
	v := float64(c.latency.n) / c.elapsed
	return number(v, c.latency.n, "%s", perSecondText(v))
}

// extreme is the largest or smallest throughput of a whole second.
func extreme(c *column, better func(a, b float64) float64) Cell {
	v, n := math.NaN(), int64(0)
	for _, s := range c.perSecond() {
		if !c.whole(s.unix) {
			continue
		}
		if n++; n == 1 {
			v = s.ok
		} else {
			v = better(v, s.ok)
		}
	}
	switch {
	case len(c.seconds) == 0:
		return missing("%s", c.why(c.secondsFile(), "no second was recorded"))
	case n == 0:
		return missing("no whole second lies inside the load")
	}
	return number(v, n, "%s", perSecondText(v))
}

func latencyRows() []row {
	const population = " of the measured requests answered ok; from due with a rate, else from sent"
	pick := func(get func(*distribution) float64) func(*column) Cell {
		return func(c *column) Cell { return millis(c.latency, get(c.latency)) }
	}
	return []row{
		{name: "FASTEST-LATENCY", unit: "ms", definition: "shortest latency" + population,
			cell: pick(func(d *distribution) float64 { return d.min })},
		{name: "AVG-LATENCY", unit: "ms", definition: "sum of latencies / number" + population,
			cell: pick(func(d *distribution) float64 { return d.mean })},
		{name: "SLOWEST-LATENCY", unit: "ms", definition: "longest latency" + population,
			cell: pick(func(d *distribution) float64 { return d.max })},
	}
}

func millis(d *distribution, v float64) Cell {
	switch {
	case d.missing != "" && math.IsNaN(v):
		return missing("%s", d.missing)
	case d.n == 0:
		return missing("no measured request was answered")
	}
	return number(v, max(d.n, 0), "%.4f ms", v)
}

// percentiles are the quantiles of the table; the classic tables end at p99.9.
var percentiles = [...]struct {
	name string
	q    float64
}{{"p10", .10}, {"p25", .25}, {"p50", .50}, {"p75", .75}, {"p90", .90}, {"p95", .95}, {"p99", .99}, {"p99.9", .999}, {"p99.99", .9999}}

func percentileRows() []row {
	var out []row
	for _, p := range percentiles {
		out = append(out, row{
			name: "Latency " + p.name, unit: "ms",
			definition: "latency that " + p.name[1:] + " % of the measured requests answered ok did not exceed; from due with a rate, else from sent; * fewer than ten requests lie above it",
			cell:       func(c *column) Cell { return percentile(c.latency, p.q) },
		})
	}
	return out
}

func percentile(d *distribution, q float64) Cell {
	v, why := d.quantile(q)
	if why != "" {
		return missing("%s", why)
	}
	cell := number(v.ms, max(d.n, 0), "%s", v.text())
	if v.few {
		cell.Marks = append(cell.Marks, fewMark)
	}
	if v.atLeast {
		cell.Marks = append(cell.Marks, atLeastMark)
	}
	return cell
}

// The marks of percentiles. The first has a sign of its own in the cells.
const (
	fewMark     = "* fewer than ten of n lie above this percentile (n < 10/(1-q)): chance decides it"
	atLeastMark = ">= the percentile lies among requests that failed or were never answered, which stand above every one answered ok: the value is the least it can be"
)

// timingRows tell the parts of a latency apart. With a rate each percentile
// stands three times: from due, from sent, and with what was never answered.
func timingRows() []row {
	out := []row{
		{name: "STDDEV-LATENCY", unit: "ms", definition: "standard deviation of the latencies of the measured requests answered ok",
			cell: func(c *column) Cell { return millis(c.latency, c.latency.sd) }},
		{name: "AVG-SERVICE", unit: "ms", ours: true, definition: "mean time from sent to answered, without the wait for a free client (rate only); AVG-LATENCY is from due",
			cell: serviceMean},
	}
	for _, p := range percentiles[2:] {
		if p.q == .75 || p.q == .95 {
			continue
		}
		share := p.name[1:] + " % of "
		out = append(out,
			row{name: "Response " + p.name, unit: "ms", ours: true,
				definition: "time from due to answered that " + share + "the measured requests answered ok did not exceed (rate only); the same as Latency " + p.name,
				cell:       func(c *column) Cell { return ofRate(c, c.latency, p.q) }},
			row{name: "Service " + p.name, unit: "ms", ours: true,
				definition: "time from sent to answered that " + share + "the measured requests answered ok did not exceed (rate only)",
				cell:       func(c *column) Cell { return ofRate(c, c.service, p.q) }},
			row{name: "Offered " + p.name, unit: "ms", ours: true,
				definition: "time from due that " + share + "all measured requests that were due did not exceed, failed and never answered ones above every one answered ok (rate only); - when every request was answered ok: it is Response " + p.name,
				cell:       func(c *column) Cell { return offeredCell(c, p.q) }})
	}
	return out
}

// ofRate is a percentile that only a load with a rate has.
func ofRate(c *column, d *distribution, q float64) Cell {
	if !c.rated() {
		return inapplicable("only a load with a rate has it")
	}
	switch {
	case d == nil && c.classic:
		return inapplicable(unheld)
	case d == nil:
		return missing("no histogram of the whole load was recorded")
	}
	return percentile(d, q)
}

// offeredCell is a percentile over what was never answered, too.
func offeredCell(c *column, q float64) Cell {
	if t := c.counts; c.rated() && t.Failed+t.Unknown+t.Shed+t.Unsent == 0 {
		return inapplicable("every request was answered ok")
	}
	return ofRate(c, c.offered, q)
}

func serviceMean(c *column) Cell {
	switch {
	case !c.rated():
		return inapplicable("only a load with a rate has it")
	case c.service == nil && c.classic:
		return inapplicable(unheld)
	case c.service == nil:
		return missing("no histogram of the whole load was recorded")
	}
	return millis(c.service, c.service.mean)
}

// list joins what members or steps say, once if they all say the same.
func list(parts []string) string {
	if d := distinct(parts); len(d) == 1 {
		return d[0]
	}
	return strings.Join(parts, ", ")
}
