package headline

import (
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// Points are the numbers for databases at equal points in their loads, with a row per client count
// or rate. For a load without steps, each database is a row.
type Points struct {
	// Of names the kind of rows: "clients", "rate", "step" or "database".
	Of string `json:"of"`
	// Columns are the databases. If the databases are the rows, there is one unnamed column.
	Columns []string `json:"columns"`
	Rows    []Point  `json:"rows"`
}

// Point holds the values of every column at one client count, rate or step.
type Point struct {
	Label string        `json:"label"`
	Cells []PointValues `json:"cells"`
}

// PointValues are the numbers for one database at one point: medians over its trials.
type PointValues struct {
	// Throughput is in requests per second. Latencies are in ms, counted from when a request was
	// due (closed loop: sent). Failed is the percentage of requests that did not end ok.
	Throughput PointValue `json:"throughput"`
	P50        PointValue `json:"p50"`
	P99        PointValue `json:"p99"`
	Max        PointValue `json:"max"`
	Failed     PointValue `json:"failed"`
	// Valid is false if a mark makes the numbers invalid.
	Valid bool `json:"valid"`
}

// PointValue is one number. Value is nil if it is unknown, and Text explains why. Low and High
// bound the trials; both are nil for a single trial.
type PointValue struct {
	Value *float64 `json:"value"`
	Text  string   `json:"text"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	N     int      `json:"n"`
}

// pointsOf returns the points for the columns.
func pointsOf(columns []answers.Column) Points {
	first := columns[0].Runs[0]
	stepped := first.Staged()
	for _, c := range columns {
		stepped = stepped && len(c.Runs[0].Stages) == len(first.Stages)
	}
	if !stepped {
		p := Points{Of: "database", Columns: []string{""}}
		for _, c := range columns {
			p.Rows = append(p.Rows, Point{c.Name, []PointValues{valuesOf(c, c.Runs[0].Stages[run.Largest(c.Runs[0].Stages)])}})
		}
		return p
	}
	p := Points{Of: kindOf(first.Stages)}
	for _, c := range columns {
		p.Columns = append(p.Columns, c.Name)
	}
	for _, g := range first.Stages {
		row := Point{Label: labelOf(g, p.Of)}
		for _, c := range columns {
			row.Cells = append(row.Cells, valuesOf(c, g))
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// kindOf returns the setting in which the stages differ: "clients", "rate", or "step" for others.
func kindOf(stages []*run.Stage) string {
	clients := slices.ContainsFunc(stages, func(g *run.Stage) bool { return g.Clients != stages[0].Clients })
	rates := slices.ContainsFunc(stages, func(g *run.Stage) bool { return g.Rate != stages[0].Rate })
	switch {
	case clients && !rates:
		return "clients"
	case rates && !clients:
		return "rate"
	}
	return "step"
}

// labelOf names a stage by the settings in which stages differ: "1,000", "500/s", "50 clients, 300/s".
func labelOf(g *run.Stage, of string) string {
	down := ""
	if g.Down {
		down = ", down"
	}
	if of == "clients" {
		return humanize.Comma(int64(g.Clients)) + down
	}
	return g.Label
}

// valuesOf returns a column's numbers at its stage like the given one.
func valuesOf(c answers.Column, like *run.Stage) PointValues {
	latency := func(q float64) PointValue {
		return valueOfTrials(c, like, shortLength, func(g *run.Stage) run.Measure { return g.Latency.Due.Quantile(q) })
	}
	return PointValues{
		Throughput: valueOfTrials(c, like, table.Significant, func(g *run.Stage) run.Measure { return g.Throughput.Average }),
		P50:        latency(.5), P99: latency(.99),
		Max:    valueOfTrials(c, like, shortLength, func(g *run.Stage) run.Measure { return g.Latency.Due.Max }),
		Failed: valueOfTrials(c, like, failedText, failed),
		Valid:  c.Valid,
	}
}

// failed is the percentage of requests in a stage that neither ended ok nor were declined.
func failed(g *run.Stage) run.Measure {
	m := g.Availability.Success
	if !m.Known() {
		return m
	}
	m.Value = 100 - m.Value
	if d := g.Availability.Declined; d.Known() && m.N > 0 {
		m.Value = max(0, m.Value-100*d.Value/float64(m.N))
	}
	return m
}

func failedText(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < .01:
		return "< 0.01 %"
	}
	return fmt.Sprintf("%.2g %%", v)
}

// shortLength formats a time in ms.
func shortLength(ms float64) string { return table.Significant(ms) + " ms" }

// valueOfTrials summarizes a number over the same stage in all trials.
func valueOfTrials(c answers.Column, like *run.Stage, text func(float64) string, of func(*run.Stage) run.Measure) PointValue {
	spread, first := c.Measure(run.At(like, func(_ *run.Run, g *run.Stage) run.Measure { return of(g) }))
	v := PointValue{N: spread.N}
	switch {
	case !first.Known() && first.Words != "":
		v.Text = first.Words
		return v
	case !first.Known():
		v.Text = "not measured"
		return v
	}
	v.Value, v.Text = &spread.Median, text(spread.Median)
	if first.AtLeast() {
		v.Text = ">= " + v.Text
	}
	if first.Marked(run.FewMark) {
		v.Text += " *"
	}
	if spread.N > 1 {
		v.Low, v.High = &spread.Low, &spread.High
	}
	return v
}
