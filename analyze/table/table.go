package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// Table has one column for each database of each run.
type Table struct {
	Columns []Header `json:"columns"`
	Rows    []Line   `json:"rows"`
	// Notes are printed below the table, one per line, footnotes first.
	Notes []string `json:"notes,omitempty"`
}

// Line is a row as it is printed: one number of every run.
type Line struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Definition string `json:"definition"`
	// Raw rows repeat another one in full digits; the text table leaves them out.
	Raw bool `json:"raw,omitempty"`
	// Section is the part of the table that the row belongs to.
	Section string `json:"section"`
	Cells   []Cell `json:"cells"`
}

// New makes the table of the runs. A row that applies to none of them is left out; a row
// that was not measured stays, with the reason.
func New(runs []*run.Run) *Table {
	t := &Table{}
	for _, c := range runs {
		t.Columns = append(t.Columns, header(c))
	}
	for _, r := range All(runs) {
		line := Line{Name: r.Name, Unit: r.Unit, Definition: r.Definition, Raw: r.Raw, Section: r.section}
		applies := false
		for _, c := range runs {
			cell := r.Cell(c)
			if r.Ours && c.Info.Limited && cell.Missing != "" {
				cell = inapplicable("%s", cell.Missing)
			}
			applies = applies || cell.applies()
			line.Cells = append(line.Cells, cell)
		}
		if applies {
			t.Rows = append(t.Rows, line)
		}
	}
	t.footnotes()
	t.Notes = append(t.Notes, kindsNote(runs)...)
	t.Notes = append(t.Notes, clockNotes(runs)...)
	t.Notes = append(t.Notes, selfCheckNotes(runs)...)
	t.Notes = append(t.Notes, releaseNotes(runs)...)
	return t
}

// footnotes numbers the marks of the cells and lists them below the table. Marks of
// uncertain percentiles have signs of their own.
func (t *Table) footnotes() {
	var order []string
	signed := map[string]bool{}
	for _, row := range t.Rows {
		for i := range row.Cells {
			cell := &row.Cells[i]
			for _, m := range cell.Marks {
				if m == run.FewMark || m == run.AtLeastMark {
					signed[m] = true
					continue
				}
				at := slices.Index(order, m)
				if at < 0 {
					at = len(order)
					order = append(order, m)
				}
				cell.Text += fmt.Sprintf(" [%d]", at+1)
			}
		}
	}
	for _, m := range []string{run.FewMark, run.AtLeastMark} {
		if signed[m] {
			t.Notes = append(t.Notes, m)
		}
	}
	for i, m := range order {
		t.Notes = append(t.Notes, fmt.Sprintf("[%d] %s", i+1, m))
	}
	t.Notes = append(t.Notes, t.unmeasured()...)
}

// unmeasured lists the reasons for cells without a value: each reason once, with its
// rows and, unless all runs share it, its runs.
func (t *Table) unmeasured() (notes []string) {
	type place struct {
		words, reason string
		column        int
	}
	var reasons []place
	rows := map[place][]string{}
	for _, row := range t.Rows {
		for i, cell := range row.Cells {
			if row.Raw || cell.Missing == "" || !cell.applies() {
				continue
			}
			p := place{cell.Text, cell.Missing, i}
			if rows[p] == nil {
				reasons = append(reasons, p)
			}
			rows[p] = append(rows[p], row.Name)
		}
	}
	type note struct{ words, text string }
	var texts []note
	tags := map[note][]string{}
	for _, p := range reasons {
		text := note{p.words, strings.Join(rows[p], ", ") + ": " + p.reason}
		texts = append(texts, text)
		tags[text] = append(tags[text], t.Columns[p.column].Tag)
	}
	for i, text := range texts {
		if slices.Index(texts, text) < i {
			continue
		}
		of := ""
		if len(tags[text]) < len(t.Columns) {
			of = " of " + strings.Join(tags[text], ", ")
		}
		notes = append(notes, text.words+of+": "+text.text)
	}
	return notes
}

// header returns the header of a run. It marks a server that is part of dbtester, and a
// version that differs from the label.
func header(r *run.Run) Header {
	h := Header{Tag: r.Info.Tag, Text: r.Info.Tag}
	if r.Info.Record.Built == run.BuiltIn && !r.Info.Unattended() {
		h.Text += " (" + run.BuiltIn + ")"
	}
	h.Text += r.Info.Ran()
	return h
}

// Ran returns " (ran X)" if the runs of one column reported a version that its label
// contradicts, or several versions; else "".
func Ran(runs []*run.Run) string {
	var ran []string
	for _, r := range runs {
		ran = append(ran, r.Info.Ran())
	}
	return strings.Join(run.Distinct(ran), "")
}

// Header names a column.
type Header struct {
	Tag string `json:"tag"`
	// Text is Tag, or "TAG (ran X)" when the members reported another version than the
	// label has.
	Text string `json:"text"`
}
