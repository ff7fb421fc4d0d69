package headline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Grade is what a report may be used for.
//
//   - A, to decide by: the client had a machine of its own, there are enough trials to tell
//     the databases apart, and no doubt could change the order.
//   - B, a hint: one of the last two is missing.
//   - C, a look: one run, too few trials to name any winner, or clients and members on one
//     machine.
//   - none: no database has valid numbers.
type Grade struct {
	Letter string `json:"letter"`
	// Use is what the letter means, Text why it is no better.
	Use  string `json:"use"`
	Text string `json:"text"`
}

// The letters.
const (
	GradeA = "A"
	GradeB = "B"
	GradeC = "C"
)

// String is the grade in one line.
func (g Grade) String() string {
	if g.Letter == "" {
		return g.Use + ": " + g.Text
	}
	return fmt.Sprintf("Grade %s, %s: %s", g.Letter, g.Use, g.Text)
}

// gradeOf applies the rules.
func gradeOf(a *answers.Answer, columns []answers.Column, doubts []Doubt) Grade {
	var look []string
	if text := sharedHost(columns); text != "" {
		look = append(look, text)
	}
	switch most := mostTrials(columns); {
	case most == 1 && len(columns) == 1:
		look = append(look, "it ran once")
	case most == 1:
		look = append(look, "each ran once")
	case a.Look:
		look = append(look, "there are too few trials to name a winner")
	}
	could := slices.ContainsFunc(doubts, func(d Doubt) bool { return d.Could })
	switch {
	case !slices.ContainsFunc(columns, func(c answers.Column) bool { return c.Valid }):
		return Grade{Use: "not valid", Text: "the numbers must not be used."}
	case len(look) > 0:
		return Grade{GradeC, "a look", strings.Join(look, ", and ") + "."}
	case could:
		return Grade{GradeB, "a hint", "a doubt below could change the order."}
	case len(columns) > 1 && len(a.Claims) == 0:
		return Grade{GradeB, "a hint", "the trials tell no two databases apart."}
	}
	return Grade{GradeA, "to decide by", "the client had a machine of its own, and no doubt could change the order."}
}

func mostTrials(columns []answers.Column) (most int) {
	for _, c := range columns {
		most = max(most, len(c.Runs))
	}
	return most
}

// sharedHost says what clients and members share, "" if they do not.
func sharedHost(columns []answers.Column) string {
	for _, c := range columns {
		for _, r := range c.Runs {
			if !r.ClientShares() {
				continue
			}
			if m := r.Info.Manifest; m != nil && m.Client.AllowedCPUs() > 0 {
				return fmt.Sprintf("clients and members share a machine of %g processors", float64(max(m.Client.OnlineCPUs, m.Client.CPUs)))
			}
			return "clients and members share a machine"
		}
	}
	return ""
}

// Doubt is a mark of the report, by whether it can change the order of the databases.
type Doubt struct {
	Reason
	// Could: its effect may be as large as the smallest difference between two databases.
	Could bool `json:"could"`
}

// doubtsOf are the reasons, those that could change the order first. A shared machine
// stands in the grade.
func doubtsOf(a *answers.Answer, points Points, reasons []Reason) []Doubt {
	doubts := []Doubt{}
	gap := smallestGap(a, points)
	for _, r := range reasons {
		doubts = append(doubts, Doubt{Reason: r, Could: r.Invalid || r.Weakens && r.Code != results.MarkSharedHost && r.could(gap, a.Kind)})
	}
	slices.SortStableFunc(doubts, func(x, y Doubt) int {
		switch {
		case x.Could == y.Could:
			return 0
		case x.Could:
			return -1
		}
		return 1
	})
	return doubts
}

// smallestGap is the least difference between two databases, as a share: what the intervals
// of the claims leave, or without claims that of the numbers at the last point. It is 0 with
// one database.
func smallestGap(a *answers.Answer, points Points) float64 {
	gap := math.Inf(1)
	for _, c := range a.Claims {
		gap = min(gap, c.Gap)
	}
	if len(a.Claims) == 0 {
		values := lastValues(points, a.Kind == "rate")
		slices.Sort(values)
		for i := 1; i < len(values); i++ {
			gap = min(gap, values[i]/values[i-1]-1)
		}
	}
	if math.IsInf(gap, 1) {
		return 0
	}
	return gap
}

// lastValues are the numbers of all databases at the last point, p99 latencies or
// throughputs.
func lastValues(p Points, latency bool) (values []float64) {
	rows := p.Rows
	if len(p.Columns) > 1 {
		rows = rows[len(rows)-1:]
	}
	for _, row := range rows {
		for _, c := range row.Cells {
			v := c.Throughput.Value
			if latency {
				v = c.P99.Value
			}
			if c.Valid && v != nil && *v > 0 {
				values = append(values, *v)
			}
		}
	}
	return values
}

// could reports whether a reason may change the compared number by this share or more. In a
// closed loop what delays answers lowers the throughput as well. An unknown effect may.
func (r Reason) could(gap float64, kind string) bool {
	switch {
	case r.Effect.Number == mark.None || kind == "rate" && r.Effect.Number == mark.Throughput:
		return false
	case r.Effect.Share == nil:
		return true
	}
	return *r.Effect.Share > 0 && *r.Effect.Share >= gap
}

// whatOf says what ran, in one line.
func whatOf(columns []answers.Column) string {
	first := columns[0].Runs[0]
	same := func(of func(*run.Run) string) string {
		text := of(first)
		for _, c := range columns {
			if of(c.Runs[0]) != text {
				return ""
			}
		}
		return text
	}
	parts := []string{
		same(func(r *run.Run) string {
			if n := len(r.Info.Record.Members); n > 0 {
				return fmt.Sprintf("%d member%s", n, run.Plural(n))
			}
			return ""
		}),
		same(func(r *run.Run) string { return r.Info.Record.Load.Describe() }),
		same(payloadText),
		trialsText(columns),
	}
	if m := first.Info.Manifest; m != nil && !m.Started.IsZero() {
		parts = append(parts, m.Started.UTC().Format("2006-01-02"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// payloadText is the size of a key and a value.
func payloadText(r *run.Run) string {
	l := r.Info.Record.Load
	switch {
	case l.KeySize == 0:
		return ""
	case l.ValueSizeMax > l.ValueSize:
		return fmt.Sprintf("keys of %d bytes, values of %d to %d", l.KeySize, l.ValueSize, l.ValueSizeMax)
	case l.ValueSize == 0:
		return fmt.Sprintf("keys of %d bytes", l.KeySize)
	}
	return fmt.Sprintf("keys of %d bytes, values of %d", l.KeySize, l.ValueSize)
}

func trialsText(columns []answers.Column) string {
	switch most := mostTrials(columns); {
	case most == 1 && len(columns) == 1:
		return "one run"
	case most == 1:
		return "one run each"
	case len(columns) == 1:
		return fmt.Sprintf("%d trials", most)
	default:
		return fmt.Sprintf("%d trials each", most)
	}
}
