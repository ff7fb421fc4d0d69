package choose

import (
	"strings"

	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Title is the heading above the answers.
func (c *Choice) Title() string { return "Which meets " + c.Asked + "?" }

// Header returns the column headings.
func (c *Choice) Header() []string {
	return []string{"database", "need", "headroom", "at", "CPU, all members", "memory, a member", "disk writes, all members"}
}

// Cells returns the cells in header order.
func (a Answer) Cells() []string {
	at := a.At
	if at == "" {
		at = "-"
	}
	return []string{a.Name, string(a.Outcome), a.Headroom, at, a.CPU, a.Memory, a.Disk}
}

// Reasons returns one line per answer.
func (c *Choice) Reasons() (lines []string) {
	for _, a := range c.Answers {
		lines = append(lines, a.Name+": "+string(a.Outcome)+", "+a.Why)
	}
	return lines
}

// Text formats the answers for a terminal.
func (c *Choice) Text() string {
	var b strings.Builder
	b.WriteString(c.Title() + "\n")
	var rows [][]string
	for _, a := range c.Answers {
		rows = append(rows, a.Cells())
	}
	b.WriteString(table.Frame(c.Header(), [][][]string{rows}))
	for _, line := range c.Reasons() {
		b.WriteString(table.Fold(line, table.NoteWidth, "    ") + "\n")
	}
	b.WriteString("What these runs cannot show:\n")
	for _, line := range c.Limits {
		b.WriteString(table.Fold("- "+line, table.NoteWidth, "    ") + "\n")
	}
	return plaintext.Visible(b.String())
}

// Markdown formats the answers as Markdown.
func (c *Choice) Markdown() string {
	clean := func(text string) string { return strings.ReplaceAll(plaintext.Markdown(text), "|", "\\|") }
	var rows [][]string
	for _, a := range c.Answers {
		rows = append(rows, a.Cells())
	}
	var b strings.Builder
	b.WriteString("\n## " + clean(c.Title()) + "\n\n**" + clean(c.Verdict) + "**\n\n" + plaintext.Table(c.Header(), rows, 2) + "\n")
	for _, line := range c.Reasons() {
		b.WriteString("- " + clean(line) + "\n")
	}
	b.WriteString("\nWhat these runs cannot show:\n\n")
	for _, line := range c.Limits {
		b.WriteString("- " + clean(line) + "\n")
	}
	return b.String()
}
