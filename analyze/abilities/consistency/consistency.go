// Package consistency shows the verdict on a load's answers.
package consistency

import (
	"fmt"
	"strings"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Half shows the judge's verdict in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Facter = Half{}
	_ abilities.Finder = Half{}
)

// Rows returns rows about violations, stale reads, lost writes and the cost of judging.
func (Half) Rows() []abilities.Row {
	return []abilities.Row{
		{Name: "LINEARIZABLE", Unit: "violations", After: "KEYS-FOUND", Cell: cell(violations),
			Definition: "answers that no register with one value for each key gives, of all requests that were judged, whole load; any makes the run invalid"},
		{Name: "STALE-READS", Unit: "requests", After: "LINEARIZABLE", Cell: cell(stale),
			Definition: "reads of a mode that promises less than linearizability which returned a value that had surely been replaced when they were sent: for how long at least, and how often a connection saw an older value than before"},
		{Name: "LOST-WRITES", Unit: "keys", After: "STALE-READS", Cell: cell(lost),
			Definition: "written keys that had an older value than the last acknowledged one, or were not there, when they were read back after the load; any makes the run invalid"},
		{Name: "JUDGE-SECONDS", Unit: "seconds", After: "LINEARIZABLE", // before rows from others that follow LOST-WRITES
			Cell:       cell(cost),
			Definition: "how long answers were judged beside the clients, in their process, summed over generators; how long that is for a request; and how often clients waited for it"},
	}
}

// Findings returns the verdicts on all runs of a database.
func (Half) Findings() []abilities.Finding {
	return []abilities.Finding{{Name: "answers judged", Short: "answers", Of: judged}}
}

// judged summarizes the verdicts. A run that lacks its verdict is named, and never counts as passed. If a
// load could not be judged, the table has the reason.
func judged(runs []*run.Run) string {
	var violations, judged, operations int64
	verdicts, without := 0, 0
	for _, r := range runs {
		v, err := consistency.Record().Of(r.Info.Record.Records)
		switch {
		case err != nil || v.Form == "" || v.Form == consistency.Unasked || v.Form == consistency.Unjudged && v.Counts.Operations == 0 && v.Parts == 0:
			continue
		case v.Form != consistency.Judged:
			without++
			continue
		}
		verdicts++
		violations, judged, operations = violations+v.Violations(), judged+v.Counts.Judged, operations+v.Counts.Operations
	}
	switch {
	case verdicts == 0 && without == 0:
		return ""
	case verdicts == 0:
		return "not judged"
	}
	text := among(violations, judged, operations)
	if without > 0 {
		text += fmt.Sprintf("; %d of %d runs not judged", without, verdicts+without)
	}
	return text
}

// among formats the number of violations.
func among(violations, judged, operations int64) string {
	text := "no violation"
	if violations > 0 {
		text = fmt.Sprintf("%s violation%s", humanize.Comma(violations), run.Plural(int(min(violations, 2))))
	}
	if judged == operations {
		return fmt.Sprintf("%s among all %s", text, humanize.Comma(operations))
	}
	return fmt.Sprintf("%s among %s judged of %s", text, humanize.Comma(judged), humanize.Comma(operations))
}

// cell returns a function that formats a part of the verdict.
func cell(of func(*consistency.Verdict) (run.Measure, string)) func(*run.Run) (run.Measure, string) {
	return func(r *run.Run) (run.Measure, string) {
		v, err := consistency.Record().Of(r.Info.Record.Records)
		switch {
		case err != nil:
			return run.Missing("%v", err), ""
		case v.Form == "":
			return run.Inapplicable("the records have no verdict"), ""
		case v.Form == consistency.Unasked:
			return run.Inapplicable("the file asks for no verdict"), ""
		}
		return of(&v)
	}
}

// notJudged returns a cell with the reason as its text.
func notJudged(why string) (run.Measure, string) {
	m := run.Missing("not judged: %s", why)
	m.Words = "not judged"
	return m, ""
}

// violations formats the verdict.
func violations(v *consistency.Verdict) (run.Measure, string) {
	if v.Form != consistency.Judged {
		return notJudged(v.Why)
	}
	n := v.Violations()
	text := among(n, v.Counts.Judged, v.Counts.Operations)
	if n > 0 {
		text += fmt.Sprintf(": %s", v.Counts.Violations)
	}
	return run.Measured(float64(n), v.Counts.Judged), text
}

// stale formats the staleness of reads.
func stale(v *consistency.Verdict) (run.Measure, string) {
	if v.Form != consistency.Measured {
		return run.Inapplicable("no reads of a mode that promises less than linearizability were measured"), ""
	}
	parts := []string{fmt.Sprintf("%s of %s requests", humanize.Comma(v.Counts.StaleReads), humanize.Comma(v.Counts.Judged))}
	if s := v.Staleness; s != nil {
		ms := func(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }
		for _, q := range []struct {
			at   float64
			name string
			is   int64
		}{{0.5, "p50", s.P50}, {0.99, "p99", s.P99}, {0.999, "p99.9", s.P999}} {
			if histogram.Enough(q.at, s.N) {
				parts = append(parts, q.name+" "+ms(q.is))
			}
		}
		parts = append(parts, "longest "+ms(s.Max))
	}
	if n := v.Counts.Unrecognised; n > 0 {
		parts = append(parts, fmt.Sprintf("%s more returned a value that was replaced too long ago to be remembered, or that no request wrote", humanize.Comma(n)))
	}
	if n := v.Counts.StepsBack; n > 0 {
		parts = append(parts, fmt.Sprintf("at least %s step%s back", humanize.Comma(n), run.Plural(int(min(n, 2)))))
	}
	return run.Measured(float64(v.Counts.StaleReads), v.Counts.Judged), strings.Join(parts, ", ")
}

// lost formats the fate of the last writes.
func lost(v *consistency.Verdict) (run.Measure, string) {
	h := v.Held
	switch {
	case h == nil && v.NotReadBack != "":
		return run.Missing("the keys were not read back: %s", v.NotReadBack), ""
	case h == nil:
		return run.Inapplicable("no keys were read back"), ""
	}
	text := "none"
	if h.Lost() > 0 {
		text = fmt.Sprintf("%s: %s an older value, %s not there,", humanize.Comma(h.Lost()), humanize.Comma(h.Older), humanize.Comma(h.Gone))
	}
	judged := h.Read - h.NotJudged
	text += fmt.Sprintf(" of %s keys", humanize.Comma(judged))
	if h.NotJudged > 0 {
		text += fmt.Sprintf("; %s could not be judged", humanize.Comma(h.NotJudged))
	}
	switch {
	case h.Read < h.Keys:
		text += fmt.Sprintf(" (%s not read: %s)", humanize.Comma(h.Keys-h.Read), v.NotReadBack)
	case v.NotReadBack != "":
		text += fmt.Sprintf(" (others not read: %s)", v.NotReadBack)
	}
	if h.Foreign > 0 {
		text += fmt.Sprintf("; %s had a value that no request wrote", humanize.Comma(h.Foreign))
	}
	return run.Measured(float64(h.Lost()), judged), text
}

// cost formats the time that the judge worked.
func cost(v *consistency.Verdict) (run.Measure, string) {
	n := v.Counts.Operations
	if v.TookNS == 0 || n == 0 {
		return run.Inapplicable("no answers were judged"), ""
	}
	text := fmt.Sprintf("%.3f s, %.2f µs for a request", float64(v.TookNS)/1e9, float64(v.TookNS)/1e3/float64(n))
	if v.Waits > 0 {
		text += fmt.Sprintf("; clients waited %s time%s", humanize.Comma(v.Waits), run.Plural(int(min(v.Waits, 2))))
	}
	return run.Measured(float64(v.TookNS)/1e9, n), text
}

// Facts returns whether answers were judged, because judging costs the client time. Records by
// releases without a verdict do not show it.
func (Half) Facts() []abilities.Fact {
	return []abilities.Fact{{Name: "answers judged", Covers: []string{"consistency"}, Of: func(r *run.Run) string {
		v, err := consistency.Record().Of(r.Info.Record.Records)
		if err != nil {
			return ""
		}
		switch v.Form {
		case consistency.Judged, consistency.Measured:
			return "yes"
		case consistency.Unjudged, consistency.Unasked:
			return "no"
		}
		return ""
	}}}
}
