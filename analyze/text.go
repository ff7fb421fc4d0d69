package analyze

import (
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/plaintext"
)

// Text returns the table and everything below it, for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.Table.Render())
	section := func(lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n")
		for _, l := range lines {
			b.WriteString(table.Fold(l, table.NoteWidth, "    ") + "\n")
		}
	}
	section(r.markLines())
	section(r.Table.Notes)
	for _, c := range r.errors {
		lines := []string{c.Tag + " errors:"}
		for _, e := range c.Errors {
			lines = append(lines, e.line())
		}
		section(lines)
	}
	return plaintext.Visible(b.String())
}

// markLines returns the marks, those that make the run invalid first. A mark of several
// runs is printed once.
func (r *Report) markLines() (lines []string) {
	for _, invalid := range []bool{true, false} {
		var said run.PerTag
		for _, m := range r.Marks {
			if m.Invalid == invalid {
				said.Add(m.Tag, run.Mark{Mark: m.Mark}.String())
			}
		}
		lines = append(lines, said.Lines()...)
	}
	return lines
}
