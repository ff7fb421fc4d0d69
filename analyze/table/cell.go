package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Cell is one number, both as text and as a value.
type Cell struct {
	// Text is the number with its unit, without signs for its marks: see [Cell.Shown].
	Text string `json:"text"`
	// Value is nil if the cell holds no number or was not measured.
	Value *float64 `json:"value"`
	// N is the number of requests, samples or members behind the value; 0 if such a count is
	// meaningless.
	N int64 `json:"n,omitempty"`
	// Low and High bound the true value if the records do not give it exactly; nil means no bound.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Trials counts the trials with Value as their median and Low and High as their bounds; 0 for a
	// single run. Spread formats the bounds if the trials differ.
	Trials int    `json:"trials,omitempty"`
	Spread string `json:"spread,omitempty"`
	// Marks are the footnotes on this cell; Footnotes are their numbers below the table.
	Marks     []string `json:"marks,omitempty"`
	Footnotes []int    `json:"footnotes,omitempty"`
	// Missing is the reason why there is no value. Text then holds words such as "not measured", or
	// "-" if there is nothing to measure.
	Missing string `json:"missing,omitempty"`
	// Parts are the numbers for a load whose steps differ, one per kind of step. The text table
	// prints each on its own line.
	Parts []Part `json:"by_step,omitempty"`
	// Format formats other values of the same kind; nil if only Text is known.
	Format Format `json:"-"`
}

// Format formats a value with its unit.
type Format func(float64) string

// Equal always returns true: cells are compared by their texts.
func (Format) Equal(Format) bool { return true }

// Part is the number for the steps with one label.
type Part struct {
	Label string `json:"label"`
	Cell
}

// signs returns the signs for the marks on a number, which follow its text.
func (c Cell) signs() string {
	signs := ""
	if slices.Contains(c.Marks, run.FewMark) {
		signs = " *"
	}
	for _, n := range c.Footnotes {
		signs += fmt.Sprintf(" [%d]", n)
	}
	return signs
}

// Lines returns the cell as a table shows it, including the signs for its marks: one line, or one
// per stage.
func (c Cell) Lines() []string {
	if len(c.Parts) == 0 && c.Spread != "" {
		return []string{c.Text + c.signs(), c.Spread}
	}
	if len(c.Parts) == 0 {
		return []string{c.Text + c.signs()}
	}
	var lines []string
	for _, p := range c.Parts {
		line := p.Label + ": " + p.Text + p.signs()
		if p.Spread != "" {
			line += " (" + p.Spread + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// Shown returns [Cell.Lines] joined to a single text.
func (c Cell) Shown() string { return strings.Join(c.Lines(), partSeparator) }

// noCell is the text in a cell that cannot have a value.
const noCell = "-"

// applies reports whether a cell has a value or should have one.
func (c Cell) applies() bool { return c.Missing == "" || c.Text != noCell }

// cellOf formats a measure, or the reason why it is missing.
func cellOf(m run.Measure, text func(float64) string) Cell {
	switch {
	case m.Inapplicable:
		return inapplicable("%s", m.Missing)
	case !m.Known() && m.Words != "":
		return Cell{Text: m.Words, Missing: m.Missing}
	case !m.Known():
		return missing("%s", m.Missing)
	}
	c := number(m.Value, m.N, "%s", text(m.Value))
	c.Marks, c.Format = m.Marks, text
	if m.Low != 0 || m.High != 0 {
		c.Low = &m.Low
		if !m.AtLeast() {
			c.High = &m.High
		}
	}
	return c
}

// verbatim marks a text that contains more than the number, so other numbers cannot be formatted
// like it.
func (c Cell) verbatim() Cell {
	c.Format = nil
	return c
}

// missing returns a cell with the reason why its number was not measured.
func missing(format string, args ...any) Cell {
	return Cell{Text: "not measured", Missing: fmt.Sprintf(format, args...)}
}

// inapplicable returns a cell with the reason why it cannot have a value.
func inapplicable(format string, args ...any) Cell {
	return Cell{Text: noCell, Missing: fmt.Sprintf(format, args...)}
}

// number returns a cell with a value and its text.
func number(v float64, n int64, format string, args ...any) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return missing("not recorded")
	}
	return Cell{Text: fmt.Sprintf(format, args...), Value: &v, N: n}
}

func count(v int64) Cell { return cellOf(run.Counted(v), commaText) }

// words returns a cell without a number. If s is empty, otherwise is the reason.
func words(s, otherwise string) Cell {
	if s == "" {
		return missing("%s", otherwise)
	}
	return Cell{Text: s}
}

// Significant formats a value with three significant digits, as precise as a latency histogram:
// "0.0123", "18.6", "1,630".
func Significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	unit := math.Pow10(digits)
	rounded := math.Round(v*unit) / unit
	if math.Abs(rounded) >= math.Pow10(3-digits) { // 9.999 rounds to 10.0
		digits--
	}
	if digits > 0 {
		return strconv.FormatFloat(rounded, 'f', digits, 64)
	}
	return humanize.Comma(int64(math.Round(rounded)))
}

// Ratio formats a ratio: "1.06", "1.6", "23".
func Ratio(v float64) string {
	switch {
	case v < 1.095:
		return fmt.Sprintf("%.2f", v)
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	}
	return Count(int64(math.Round(v)))
}

// Count formats a whole number.
func Count(n int64) string { return humanize.Comma(n) }

func perSecondText(v float64) string { return run.RateNumber(v) + " req/sec" }
func millisText(v float64) string    { return fmt.Sprintf("%.4f ms", v) }
func rawText(v float64) string       { return fmt.Sprintf("%.2f", v) }
func commaText(v float64) string     { return humanize.Comma(int64(math.Round(v))) }
func secondText(v float64) string    { return fmt.Sprintf("%.2f sec", v) }
func percentText(v float64) string   { return fmt.Sprintf("%.2f %%", v) }

// shareText formats a share of 1 in per cent, with one decimal unless it is whole.
func shareText(share float64) string {
	text := fmt.Sprintf("%.1f", 100*share)
	if whole := fmt.Sprintf("%.0f", 100*share); text == whole+".0" {
		return whole
	}
	return text
}

// JoinDistinct joins texts from members or steps. If they are all equal, it returns one.
func JoinDistinct(parts []string) string {
	if d := run.Distinct(parts); len(d) == 1 {
		return d[0]
	}
	return strings.Join(parts, ", ")
}

// Row defines one row in the table.
type Row struct {
	section                string
	Name, Unit, Definition string
	// Step and Operation name the part of the load that the row describes; "" means the whole load.
	// Metric names the measured quantity; "" means Name.
	Step, Operation, Metric string
	// Raw rows repeat another row in full digits. The text table omits them.
	Raw bool
	// Ours means that classic files cannot fill the row: their cells show "-".
	Ours bool
	// Cell returns the cell for one run.
	Cell func(*run.Run) Cell
}

// partSeparator separates the numbers for several stages in a cell.
const partSeparator = "; "

// worst returns the cell for the client with the largest value, with its number if there are
// several clients; otherwise is the cell if no client has a value. Clients are never averaged.
func worst[T any](r *run.Run, of func(results.Issuer) *T, value func(*T) int64, cell func(*T) Cell, otherwise Cell) Cell {
	var most *T
	var who results.Issuer
	for _, c := range r.Info.Record.Issuers() {
		if one := of(c); one != nil && (most == nil || value(one) > value(most)) {
			most, who = one, c
		}
	}
	if most == nil {
		return otherwise
	}
	made := cell(most)
	if who.Number > 0 && made.Missing == "" {
		made.Text += fmt.Sprintf(" (generator %d)", who.Number)
	}
	return made
}

// spreadCell formats a quantile (1: the maximum) over n times measured at the client.
func spreadCell(q float64, ns, n int64) Cell {
	ms := float64(ns) / 1e6
	if q == 1 || histogram.Enough(q, n) {
		return number(ms, n, "%.3f ms, n %s", ms, humanize.Comma(n))
	}
	cell := number(ms, n, "%.3f ms, n %s", ms, humanize.Comma(n))
	cell.Marks = []string{run.FewMark}
	return cell
}
