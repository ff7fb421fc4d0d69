package table

import (
	"fmt"
	"math"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// Summaries formats every run in the style of HTTP benchmark tools: a few totals, a histogram,
// percentiles, outcomes. The numbers are the same as in the table.
func Summaries(runs []*run.Run) string {
	var parts []string
	for _, r := range runs {
		parts = append(parts, summary(r))
	}
	return strings.Join(parts, "\n")
}

func summary(r *run.Run) string {
	var b strings.Builder
	title := headerOf(trials.Group{Name: r.Info.Tag, Runs: []*run.Run{r}}).Text
	if op := operation(r); op.Missing == "" {
		title += ", " + op.Text
	}
	fmt.Fprintf(&b, "%s\n\nSummary:\n", title)
	for _, line := range summaryTotals(r) {
		fmt.Fprintf(&b, "  %-16s %s\n", line.name+":", line.text)
	}
	for _, g := range r.Stages {
		stageSummary(&b, r, g)
	}
	fmt.Fprintf(&b, "\nOutcomes, whole load:\n")
	for _, line := range outcomeLines(r) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}

// stageSummary prints the latencies in a stage.
func stageSummary(b *strings.Builder, r *run.Run, g *run.Stage) {
	of, clock := "", "from sent to answered"
	if g.Latency.Rated() {
		clock = "from due to answered"
	}
	if r.Staged() {
		of = ", " + g.Label
		fmt.Fprintf(b, "\n%s:\n", g.Label)
		for _, line := range stageTotals(g) {
			fmt.Fprintf(b, "  %-16s %s\n", line.name+":", line.text)
		}
	}
	fmt.Fprintf(b, "\nResponse time histogram of requests answered ok%s, ms %s:\n", of, clock)
	for _, line := range drawBuckets(buckets(&g.Latency)) {
		fmt.Fprintf(b, "  %s\n", line)
	}
	fmt.Fprintf(b, "\nLatency distribution of all requests that were due%s:\n", of)
	var marks []string
	for _, p := range percentiles {
		if p.q > .999 {
			break // only the table shows them
		}
		cell := percentile(g.Latency.Due.Quantile(p.q))
		marks = append(marks, cell.Marks...)
		fmt.Fprintf(b, "  %4s %% in %s\n", p.name[1:], cell.Shown())
	}
	for _, mark := range run.Distinct(marks) {
		fmt.Fprintf(b, "  %s\n", mark)
	}
}

// stageTotals are the headline numbers for a stage.
func stageTotals(g *run.Stage) []named {
	of := func(m run.Measure) string {
		return cellOf(m, func(v float64) string { return atLeast(m) + millisText(v) }).Text
	}
	return []named{
		{"Slowest", of(slowest(&g.Latency))},
		{"Fastest", of(fastest(&g.Latency))},
		{"Average", of(mean(&g.Latency))},
		{"Requests/sec", strings.TrimSuffix(cellOf(g.Throughput.Average, perSecondText).Text, " req/sec")},
	}
}

type named struct{ name, text string }

// summaryTotals returns the lines at the top. They describe measured requests, except for the
// bytes, which cover the whole load.
func summaryTotals(r *run.Run) []named {
	lines := []named{{"Total", elapsed(r).Text}}
	if !r.Staged() {
		lines = append(lines, stageTotals(r.Stages[0])...)
	}
	if sent := dataSent(r); sent != "" {
		lines = append(lines, named{"Data sent", sent})
	}
	if bytes := r.Load.Counts.BytesRead; bytes.Value > 0 {
		lines = append(lines, named{"Data received", humanize.Comma(bytes.Int()) + " B of values"},
			named{"Bytes/response", bytesPerResponse(r).Text})
	}
	return lines
}

// dataSent describes the bytes in written keys and values; "" if the load wrote nothing or the
// manifest shows that they were not counted.
func dataSent(r *run.Run) string {
	l, ok := r.Info.Record.Load, r.Load.Counts.OK
	if !l.Operation.SendsValue() || l.Operation.Reads() || !ok.Known() && r.Info.Manifest != nil {
		return ""
	}
	each := fmt.Sprintf("%s B of key + %s B of value each", humanize.Comma(int64(l.KeySize)), sizesText(l))
	sum := r.Load.Counts.BytesWritten
	switch {
	case sum.Known() && sum.Value > 0 && ok.Known():
	case l.ValueSizeMax > 0 || !ok.Known():
		return each
	default: // from an older version
		sum = run.Counted(ok.Int() * int64(l.KeySize+l.ValueSize))
	}
	return fmt.Sprintf("%s B in %s answered requests, %s", humanize.Comma(sum.Int()), humanize.Comma(ok.Int()), each)
}

// sizesText formats the value sizes in bytes.
func sizesText(l results.Load) string {
	if l.ValueSizeMax > 0 {
		text := fmt.Sprintf("%s to %s", humanize.Comma(int64(l.ValueSize)), humanize.Comma(int64(l.ValueSizeMax)))
		if law := l.Sizes.String(); law != "" {
			text += fmt.Sprintf(" (%s, %s on average)", law, humanize.Comma(int64(math.Round(l.MeanValueSize()))))
		}
		return text
	}
	return humanize.Comma(int64(l.ValueSize))
}

// outcomeLines count the requests by outcome, and the errors by class.
func outcomeLines(r *run.Run) []string {
	c := &r.Load.Counts
	var lines []string
	for _, one := range []struct {
		name   string
		m      run.Measure
		always bool
	}{
		{"ok", c.OK, true}, {"failed", c.Failed, true}, {"unknown", c.Unknown, true},
		{"shed", c.Shed, false}, {"unsent", c.Unsent, false},
	} {
		text := cellOf(one.m, commaText).Text
		switch {
		case one.m.Value == 0 && !one.always:
		case one.m.Value > 0 && c.Offered.Value > 0:
			lines = append(lines, fmt.Sprintf("%-9s %s (%.4g %%)", "["+one.name+"]", text, 100*one.m.Value/c.Offered.Value))
		default:
			lines = append(lines, fmt.Sprintf("%-9s %s", "["+one.name+"]", text))
		}
	}
	for _, e := range r.Load.Errors {
		lines = append(lines, fmt.Sprintf("by class: %s %s", e.Class, humanize.Comma(e.Count)))
	}
	return lines
}
