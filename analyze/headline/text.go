package headline

import (
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/plaintext"
)

// Text returns the first screen for a terminal.
func (h *Headline) Text() string {
	var b strings.Builder
	for _, line := range h.Top() {
		b.WriteString(table.Fold(line, table.NoteWidth, "    ") + "\n")
	}
	b.WriteString("\n" + h.frame())
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

// Top returns the lines above the numbers: the verdict, how far to trust it, and the
// settings that differ.
func (h *Headline) Top() []string {
	lines := []string{"Verdict: " + h.Verdict}
	if h.Choice != nil {
		lines = append(lines, "Need: "+h.Choice.Verdict)
	}
	lines = append(lines, "Trust: "+h.Trust.Text)
	for _, line := range h.Unequal {
		lines = append(lines, "UNEQUAL "+line)
	}
	return lines
}

// Reasons returns the marks as lines, merged. Those of all columns do not list them.
func (h *Headline) Reasons() (lines []string) {
	for _, r := range h.Trust.Reasons {
		if len(h.Columns) > 1 && len(r.Of) == len(h.Columns) {
			r.Of = []string{"all"}
		}
		lines = append(lines, r.String())
	}
	return lines
}

// stepName is the row of the steps that numbers are of.
const stepName = "of the step with"

// steps returns the steps that the numbers of each column are of, nil if all are of
// whole loads.
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

// Signs returns what follows the text of the value: the signs of its marks.
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
	if c.RatioText != "" {
		text += " (" + c.RatioText + ")"
	}
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
	if steps := h.steps(); steps != nil {
		rows = append(rows, append([]string{stepName}, steps...))
	}
	for _, row := range h.Rows {
		line := []string{row.Name}
		for _, c := range row.Cells {
			line = append(line, strings.Join(c.lines(), "\n"))
		}
		rows = append(rows, line)
	}
	return table.Frame(header, [][][]string{rows})
}

// Markdown returns the first screen as Markdown.
func (h *Headline) Markdown() string {
	var b strings.Builder
	clean := plaintext.Cell
	line := func(s string) string { return plaintext.Markdown(plaintext.Line(s)) }
	b.WriteString("**" + line(h.Verdict) + "**\n\n" + line("Trust: "+h.Trust.Text) + "\n\n")
	for _, text := range h.Unequal {
		b.WriteString("- UNEQUAL " + line(text) + "\n")
	}
	if len(h.Unequal) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("| |")
	for _, c := range h.Columns {
		b.WriteString(" " + clean(c.Text))
		if c.Dated != "" {
			b.WriteString("<br>" + c.Dated)
		}
		b.WriteString(" |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(h.Columns)) + "\n")
	if steps := h.steps(); steps != nil {
		b.WriteString("| " + stepName + " |")
		for _, s := range steps {
			b.WriteString(" " + clean(s) + " |")
		}
		b.WriteString("\n")
	}
	for _, row := range h.Rows {
		b.WriteString("| " + clean(row.Name) + " |")
		for _, c := range row.Cells {
			var lines []string
			for _, line := range c.lines() {
				lines = append(lines, clean(line))
			}
			b.WriteString(" " + strings.Join(lines, "<br>") + " |")
		}
		b.WriteString("\n")
	}
	if h.Choice != nil {
		b.WriteString(h.Choice.Markdown())
	}
	for i := range h.Sweeps {
		b.WriteString(h.Sweeps[i].Markdown())
	}
	if lines := h.Reasons(); len(lines) > 0 {
		if h.Choice != nil || len(h.Sweeps) > 0 {
			b.WriteString("\n## What weakens the numbers\n")
		}
		b.WriteString("\n")
		for _, text := range lines {
			b.WriteString("- " + line(text) + "\n")
		}
	}
	return b.String()
}
