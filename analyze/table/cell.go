package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/run"
)

// Cell is one number as it is printed and as it is.
type Cell struct {
	// Text is the number with its unit, without signs of its marks: see [Cell.Shown].
	Text string `json:"text"`
	// Value is nil when the cell holds no number or was not measured.
	Value *float64 `json:"value"`
	// N is the number of requests, samples or members behind the value; 0 if that
	// means nothing.
	N int64 `json:"n,omitempty"`
	// Low and High bound the true value where the records do not give it exactly; nil
	// is no bound.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Trials is the number of trials of which Value is the median, with the bounds Low
	// and High; 0 for a single run. Spread prints the bounds where the trials differ.
	Trials int    `json:"trials,omitempty"`
	Spread string `json:"spread,omitempty"`
	// Marks are footnotes on this cell, Footnotes their numbers below the table.
	Marks     []string `json:"marks,omitempty"`
	Footnotes []int    `json:"footnotes,omitempty"`
	// Missing is the reason why there is no value: Text says in which way, or, when Text
	// is "-", there is nothing of the kind to measure.
	Missing string `json:"missing,omitempty"`
	// Parts are the numbers of a load whose steps differ, one for each kind of step. The
	// text table prints each on a line of its own.
	Parts []Part `json:"by_step,omitempty"`
	// Format prints another value of the same kind, nil if only Text is known.
	Format Format `json:"-"`
}

// Format prints a value with its unit.
type Format func(float64) string

// Equal holds for all formats: cells are compared by what they print.
func (Format) Equal(Format) bool { return true }

// Part is the number of the steps with a label.
type Part struct {
	Label string `json:"label"`
	Cell
}

// signs returns what follows the text of a number: the signs of its marks.
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

// Lines returns what a table shows of the cell, with the signs of its marks: one line,
// or one for each stage.
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

// Shown returns [Cell.Lines] as one text.
func (c Cell) Shown() string { return strings.Join(c.Lines(), partSeparator) }

// noCell is the text of a cell that cannot have a value.
const noCell = "-"

// applies reports whether a cell has a value or should have one.
func (c Cell) applies() bool { return c.Missing == "" || c.Text != noCell }

// cellOf prints a measure, or the reason why it is missing.
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

// verbatim marks a text that holds more than the number, so that no other number can be
// printed like it.
func (c Cell) verbatim() Cell {
	c.Format = nil
	return c
}

// missing is a cell of a number that was not measured, with the reason.
func missing(format string, args ...any) Cell {
	return Cell{Text: "not measured", Missing: fmt.Sprintf(format, args...)}
}

// inapplicable is a cell that cannot have a value, with the reason.
func inapplicable(format string, args ...any) Cell {
	return Cell{Text: noCell, Missing: fmt.Sprintf(format, args...)}
}

// number is a cell of a value and its text.
func number(v float64, n int64, format string, args ...any) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return missing("not recorded")
	}
	return Cell{Text: fmt.Sprintf(format, args...), Value: &v, N: n}
}

func count(v int64) Cell { return cellOf(run.Counted(v), commaText) }

// words is a cell without a number. Otherwise is the reason if there are no words.
func words(s, otherwise string) Cell {
	if s == "" {
		return missing("%s", otherwise)
	}
	return Cell{Text: s}
}

// HumanSize prints bytes in decimal units, as the classic tables do.
func HumanSize(v float64) string {
	if v < 0 || math.IsNaN(v) {
		return ""
	}
	return humanize.Bytes(uint64(math.Round(v)))
}

// Significant prints three significant digits, as many as a histogram of latencies
// keeps: "0.0123", "18.6", "1,630".
func Significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	unit := math.Pow10(digits)
	rounded := math.Round(v*unit) / unit
	if math.Abs(rounded) >= math.Pow10(3-digits) { // 9.999 is 10.0
		digits--
	}
	if digits > 0 {
		return strconv.FormatFloat(rounded, 'f', digits, 64)
	}
	return humanize.Comma(int64(math.Round(rounded)))
}

// Ratio prints how many times as much: "1.06", "1.6", "23".
func Ratio(v float64) string {
	switch {
	case v < 1.095:
		return fmt.Sprintf("%.2f", v)
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	}
	return Count(int64(math.Round(v)))
}

// Count prints a whole number.
func Count(n int64) string { return humanize.Comma(n) }

func perSecondText(v float64) string { return run.RateNumber(v) + " req/sec" }
func millisText(v float64) string    { return fmt.Sprintf("%.4f ms", v) }
func rawText(v float64) string       { return fmt.Sprintf("%.2f", v) }
func commaText(v float64) string     { return humanize.Comma(int64(math.Round(v))) }
func secondText(v float64) string    { return fmt.Sprintf("%.2f sec", v) }
func percentText(v float64) string   { return fmt.Sprintf("%.2f %%", v) }

// shareText prints a share of 1 in per cent, with a decimal if it is not whole.
func shareText(share float64) string {
	text := fmt.Sprintf("%.1f", 100*share)
	if whole := fmt.Sprintf("%.0f", 100*share); text == whole+".0" {
		return whole
	}
	return text
}

// JoinDistinct joins the texts of members or steps, or returns the one that they share.
func JoinDistinct(parts []string) string {
	if d := run.Distinct(parts); len(d) == 1 {
		return d[0]
	}
	return strings.Join(parts, ", ")
}

// Row defines one row of the table.
type Row struct {
	section                string
	Name, Unit, Definition string
	// Step and Operation are the part of the load that the row is of, "" for all of it;
	// Metric is what it measures of that part, "" for Name.
	Step, Operation, Metric string
	// Raw rows repeat another row in full digits; the text table leaves them out.
	Raw bool
	// Ours marks rows that the classic files cannot fill; their cells then show "-".
	Ours bool
	// Cell is the row's cell of one run.
	Cell func(*run.Run) Cell
}
