package analyze

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Text returns the whole report for a terminal: the first screen, then everything else.
func (r *Report) Text() string { return r.Headline.Text() + "\n" + r.details() }

// details returns everything after the first screen: the table and everything below it.
func (r *Report) details() string {
	var b strings.Builder
	b.WriteString(r.Shown.Render())
	section := func(lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n")
		for _, l := range lines {
			b.WriteString(table.Fold(l, table.NoteWidth, "    ") + "\n")
		}
	}
	section(slices.Concat(r.Shown.LeftOut(), r.Shown.Notes))
	for _, c := range r.failures {
		lines := []string{c.Tag + " errors:"}
		for _, e := range c.Errors {
			lines = append(lines, e.lines()...)
		}
		section(lines)
	}
	for _, one := range r.logEvents {
		lines := []string{"events in the logs of " + one.Of + ", in seconds of the load:"}
		for _, l := range one.Lines {
			lines = append(lines, l.String())
		}
		section(lines)
	}
	return plaintext.Visible(b.String())
}
