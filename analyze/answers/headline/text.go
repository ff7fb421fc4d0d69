package headline

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
)

// Text returns the first screen followed by all its numbers, settings and reasons.
func (h *Headline) Text() string {
	var b strings.Builder
	for _, line := range h.Top() {
		b.WriteString(table.Fold(line, table.NoteWidth, "    ") + "\n")
	}
	b.WriteString("\n" + h.numbers(len(h.Points.Rows)))
	b.WriteString("\n" + h.Facts.text() + "\n")
	if why := h.WhyText(); why != "" {
		b.WriteString(table.Fold(why, table.NoteWidth, "  ") + "\n")
	}
	b.WriteString(h.frame())
	if h.Choice != nil {
		b.WriteString("\n" + h.Choice.Text())
	}
	for i := range h.Sweeps {
		b.WriteString(h.Sweeps[i].Text())
	}
	if lines := h.Reasons(); len(lines) > 0 {
		b.WriteString("\n")
		for _, line := range lines {
			b.WriteString(table.Fold(line, table.NoteWidth, "    ") + "\n")
		}
	}
	return plaintext.Visible(b.String())
}

// Top returns the lines above the numbers: the answer, the grade, and the settings that differ.
func (h *Headline) Top() []string {
	lines := append(h.Foremost(), h.Verdict)
	if h.Choice != nil {
		lines = append(lines, "Need: "+h.Choice.Verdict)
	}
	lines = append(lines, h.Grade.String())
	for _, line := range h.Unequal {
		lines = append(lines, "UNEQUAL "+line)
	}
	return lines
}

// Foremost returns the marks that readers must see before the answer, as lines.
func (h *Headline) Foremost() (lines []string) {
	for _, r := range h.Trust.Reasons {
		if k, _ := mark.Of(r.Code); k.Foremost && r.Invalid {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", strings.ToUpper(r.Code), strings.Join(r.Of, ", "), r.Text))
		}
	}
	return lines
}

// foremostMarkdown formats the marks in Foremost as Markdown, or returns "".
func (h *Headline) foremostMarkdown() (text string) {
	for _, line := range h.Foremost() {
		text += "**" + plaintext.Markdown(plaintext.Line(line)) + "**\n\n"
	}
	return text
}

// Reasons returns the marks as lines, merged. A mark on all columns does not list them.
func (h *Headline) Reasons() (lines []string) {
	for _, r := range h.Trust.Reasons {
		if len(h.Columns) > 1 && len(r.Of) == len(h.Columns) {
			r.Of = []string{"all"}
		}
		lines = append(lines, r.String())
	}
	return lines
}

// Rows that name the part of the load described by the rows below them, used if a load has several
// steps.
const (
	stepName  = "of the step with"
	wholeName = "of the whole load"
	allSteps  = "all steps"
)

// line is a row on the first screen: its name, and the lines in each cell.
type line struct {
	name  string
	cells [][]string
}

// lines returns the rows in order. If some numbers describe a single step, separating rows state
// which numbers describe which step and which describe the whole load.
func (h *Headline) lines() (lines []line) {
	steps := h.steps()
	if steps != nil {
		step := line{name: stepName}
		for _, s := range steps {
			step.cells = append(step.cells, []string{s})
		}
		lines = append(lines, step)
	}
	for i, row := range h.Rows {
		if steps != nil && i > 0 && h.Rows[i-1].ofStage && !row.ofStage {
			lines = append(lines, wholeLine(steps))
		}
		texts := line{name: row.Name}
		for _, c := range row.Cells {
			texts.cells = append(texts.cells, c.lines())
		}
		lines = append(lines, texts)
	}
	return lines
}

// wholeLine is the row above the numbers for the whole load. It is blank in a column whose load has
// no steps.
func wholeLine(steps []string) line {
	whole := line{name: wholeName}
	for _, s := range steps {
		if s != "" {
			s = allSteps
		}
		whole.cells = append(whole.cells, []string{s})
	}
	return whole
}

// steps returns the step that the numbers in each column describe; nil if all describe whole loads.
func (h *Headline) steps() []string {
	steps := make([]string, len(h.Columns))
	known := false
	for _, row := range h.Rows {
		for i, c := range row.Cells {
			if c.Of != "" {
				steps[i], known = c.Of, true
			}
		}
	}
	if !known {
		return nil
	}
	return steps
}

// Signs returns the signs for the marks, which follow the text.
func (c Cell) Signs() (signs string) {
	for _, m := range c.Marks {
		switch m {
		case run.FewMark:
			signs += " *"
		case run.UnsteadyMark:
			signs += " not steady"
		}
	}
	return signs
}

// lines returns the text of a cell: the value with its ratio, then its spread.
func (c Cell) lines() []string {
	text := c.Text + c.Signs()
	if c.Spread != "" {
		return []string{text, c.Spread}
	}
	return []string{text}
}

// frame draws the numbers as a table.
func (h *Headline) frame() string {
	header := []string{""}
	for _, c := range h.Columns {
		text := c.Text
		if c.Dated != "" {
			text += "\n" + c.Dated
		}
		header = append(header, text)
	}
	var rows [][]string
	for _, l := range h.lines() {
		row := []string{l.name}
		for _, c := range l.cells {
			row = append(row, strings.Join(c, "\n"))
		}
		rows = append(rows, row)
	}
	return table.Frame(header, [][][]string{rows})
}

// Markdown returns the first screen as Markdown.
func (h *Headline) Markdown() string {
	var b strings.Builder
	line := func(s string) string { return plaintext.Markdown(plaintext.Line(s)) }
	b.WriteString(h.foremostMarkdown() + line(h.What) + "\n\n" + strings.TrimSpace("**"+line(h.Answer.Sentence)+"** "+line(h.Answer.Basis)) + "\n\n" + line(h.Grade.String()) + "\n\n")
	b.WriteString(h.numbersMarkdown() + "\n" + h.Facts.markdown())
	if why := h.WhyText(); why != "" {
		b.WriteString("\n" + line(why) + "\n")
	}
	if h.Choice != nil {
		b.WriteString(h.Choice.Markdown())
	}
	for i := range h.Sweeps {
		b.WriteString(h.Sweeps[i].Markdown())
	}
	var could, others []string
	for _, d := range h.Doubts {
		if d.Could {
			could = append(could, d.String())
		} else {
			others = append(others, d.String())
		}
	}
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n" + title + "\n\n")
		for _, text := range lines {
			b.WriteString("- " + line(text) + "\n")
		}
	}
	what := "the numbers"
	if len(h.Columns) > 1 {
		what = "the order"
	}
	list("What could change "+what+":", could)
	list("What cannot change "+what+":", others)
	list("Settings that differ:", h.Unequal)
	return b.String()
}

// markdown formats the points as a table.
func (p *Points) markdown() string {
	if len(p.Columns) > 1 {
		return markdownTable(beside(p.byColumn(chosen(len(p.Rows), len(p.Rows)))))
	}
	rows := [][]string{{p.Of, "requests/s", "p50", "p99", "longest", "not ok"}}
	for _, row := range p.Rows {
		c := row.Cells[0]
		rows = append(rows, []string{label(row.Label, c.Valid), c.Throughput.spread(), c.P50.spread(), c.P99.spread(), c.Max.Text, c.Failed.Text})
	}
	return markdownTable(rows)
}

// spread formats a value with its bounds over the trials.
func (v PointValue) spread() string {
	if v.Low == nil || v.Value == nil {
		return v.Text
	}
	return fmt.Sprintf("%s (%s .. %s, n %d)", v.Text, table.Significant(*v.Low), table.Significant(*v.High), v.N)
}

// markdownTable formats a heading row and the rows below it.
func markdownTable(rows [][]string) string { return plaintext.Table(rows[0], rows[1:], 1) }

// markdown formats the facts as a table, one row per database.
func (f *Facts) markdown() string {
	return markdownTable(f.table(func(row Fact) string { return row.Name }))
}

// numbersMarkdown is the card as a table, or the points.
func (h *Headline) numbersMarkdown() string {
	if h.Card == nil {
		return h.Points.markdown()
	}
	row := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	text := row(h.Card.Head) + "|" + strings.Repeat("---|", len(h.Card.Head)) + "\n"
	rows := h.Card.Rows
	if len(rows) > mostCardRows { // the page has all
		rows = h.Card.Leading()
	}
	for _, cells := range rows {
		text += row(cells)
	}
	for _, note := range h.Card.Notes {
		text += "\n" + note + "\n"
	}
	return text
}
