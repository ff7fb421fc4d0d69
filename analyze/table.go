package analyze

import (
	"fmt"
	"slices"
	"strings"

	humanize "github.com/dustin/go-humanize"
)

// Table is the table of a report: one column per database and run.
type Table struct {
	Columns []Header `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Notes stand below the table, one line each; footnote marks first.
	Notes []string `json:"notes,omitempty"`
}

// Header names a column.
type Header struct {
	Tag string `json:"tag"`
	// Text is Tag, or "TAG (ran X)" when the members reported another version than
	// the label says.
	Text string `json:"text"`
}

// Row is one number of every column.
type Row struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Definition string `json:"definition"`
	// Raw rows repeat another one in full digits; the text table leaves them out.
	Raw bool `json:"raw,omitempty"`
	// Section is the part of the table that the row belongs to.
	Section string `json:"section"`
	Cells   []Cell `json:"cells"`
}

// Cell is one number as it is printed and as it is.
type Cell struct {
	Text string `json:"text"`
	// Value is nil when the cell holds no number or was not measured.
	Value *float64 `json:"value"`
	// N is the number of requests, samples or members behind the value; 0 if that
	// means nothing.
	N int64 `json:"n,omitempty"`
	// Marks are footnotes on this cell.
	Marks []string `json:"marks,omitempty"`
	// Missing says why there is no value: it was not measured, or, when Text is "-",
	// there is nothing of the kind to measure.
	Missing string `json:"missing,omitempty"`
}

// noCell is what a cell shows that cannot have a value.
const noCell = "-"

// applies reports whether a cell has a value or should have one.
func (c Cell) applies() bool { return c.Missing == "" || c.Text != noCell }

// newTable makes the table of the columns.
func newTable(columns []*column) *Table {
	t := &Table{}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.header())
	}
	for _, r := range rows(columns) {
		line := Row{Name: r.name, Unit: r.unit, Definition: r.definition, Raw: r.raw, Section: r.section}
		applies := false
		for _, c := range columns {
			cell := r.cell(c)
			if r.ours && c.foreign() && cell.Missing != "" {
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
	t.Notes = append(t.Notes, clockNotes(columns)...)
	t.Notes = append(t.Notes, selfCheckNotes(columns)...)
	t.Notes = append(t.Notes, releaseNotes(columns)...)
	t.Notes = append(t.Notes, differences(columns)...)
	return t
}

// footnotes numbers the cells' marks and puts them below the table. The mark of
// uncertain percentiles has a sign of its own.
func (t *Table) footnotes() {
	var order []string
	signed := map[string]bool{}
	for _, row := range t.Rows {
		for i := range row.Cells {
			cell := &row.Cells[i]
			for _, m := range cell.Marks {
				if m == fewMark || m == atLeastMark {
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
	for _, m := range []string{fewMark, atLeastMark} {
		if signed[m] {
			t.Notes = append(t.Notes, m)
		}
	}
	for i, m := range order {
		t.Notes = append(t.Notes, fmt.Sprintf("[%d] %s", i+1, m))
	}
	t.Notes = append(t.Notes, t.unmeasured()...)
}

// unmeasured says why cells have no value: each reason once, with its rows and,
// unless it is true of all, its columns.
func (t *Table) unmeasured() (notes []string) {
	type place struct {
		reason string
		column int
	}
	var reasons []place
	rows := map[place][]string{}
	for _, row := range t.Rows {
		for i, cell := range row.Cells {
			if row.Raw || cell.Missing == "" || !cell.applies() {
				continue
			}
			p := place{cell.Missing, i}
			if rows[p] == nil {
				reasons = append(reasons, p)
			}
			rows[p] = append(rows[p], row.Name)
		}
	}
	var said []string // rows: reason
	tags := map[string][]string{}
	for _, p := range reasons {
		text := strings.Join(rows[p], ", ") + ": " + p.reason
		said = append(said, text)
		tags[text] = append(tags[text], t.Columns[p.column].Tag)
	}
	for _, text := range distinct(said) {
		of := ""
		if len(tags[text]) < len(t.Columns) {
			of = " of " + strings.Join(tags[text], ", ")
		}
		notes = append(notes, "not measured"+of+": "+text)
	}
	return notes
}

// clockNotes say what the latencies leave out or hold.
func clockNotes(columns []*column) (notes []string) {
	var closed, rated []string
	for _, c := range columns {
		switch {
		case c.latency.n <= 0, c.foreign() && c.run.Load.Rate > 0: // its gap says more
		case c.rated():
			rated = append(rated, c.tag)
		default:
			closed = append(closed, c.tag)
		}
	}
	of := func(tags []string) string {
		if len(tags) == len(columns) {
			return ""
		}
		return " of " + strings.Join(tags, ", ")
	}
	if len(rated) > 0 {
		notes = append(notes, "latencies"+of(rated)+" are response times: from when a request was due, so that waiting for a free client counts; the Service rows are from when it was sent")
	}
	if len(closed) > 0 {
		notes = append(notes, "latencies"+of(closed)+" are service times of a closed loop, from when a request was sent: a client that waits for an answer sends nothing, so a stall is seen by few requests and its waiting is in no percentile; only a load with a rate measures that")
	}
	return notes
}

// releaseNotes are what must be said wherever a release is named.
func releaseNotes(columns []*column) (notes []string) {
	for _, c := range columns {
		for _, m := range c.run.Members {
			if m.Release == nil {
				continue
			}
			for _, note := range m.Release.Notes {
				notes = append(notes, c.tag+": "+note)
			}
		}
	}
	return distinct(notes)
}

// differences are what makes columns hard to compare, a line each.
func differences(columns []*column) (notes []string) {
	type aspect struct {
		what string
		of   func(*column) string // "" where it means nothing
	}
	text := func(cell func(*column) Cell) func(*column) string {
		return func(c *column) string {
			if one := cell(c); one.Missing == "" {
				return one.Text
			}
			return ""
		}
	}
	aspects := []aspect{
		{"operations or read modes", text(operation)},
		{"rates", text(rate)},
		{"clients on connections", text(clientsCell)},
		{"key + value bytes", text(payload)},
		{"keys before the load", text(keysBefore)},
		{"key laws", func(c *column) string { return c.run.Load.KeyLaw }},
		{"fsync", func(c *column) string { return c.run.Fsync }},
		{"members", text(members)},
		{"loads", configured},
	}
	for _, name := range optionNames(columns) {
		aspects = append(aspects, aspect{"option " + name, func(c *column) string { return c.options()[name] }})
	}
	for _, a := range aspects {
		if text := differing(columns, a.of); text != "" {
			notes = append(notes, "UNEQUAL "+a.what+": "+text)
		}
	}
	return notes
}

// differing lists columns by their values, "" when all have the same.
func differing(columns []*column, of func(*column) string) string {
	var values []string
	tags := map[string][]string{}
	for _, c := range columns {
		v := of(c)
		if v == "" {
			continue
		}
		if tags[v] == nil {
			values = append(values, v)
		}
		tags[v] = append(tags[v], c.tag)
	}
	if len(values) < 2 {
		return ""
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, strings.Join(tags[v], ", ")+": "+v)
	}
	return strings.Join(parts, "; ")
}

// configured is how much load was asked for.
func configured(c *column) string {
	l := c.run.Load
	var parts []string
	if l.Requests > 0 {
		parts = append(parts, humanize.Comma(l.Requests)+" requests")
	}
	if l.Duration > 0 {
		parts = append(parts, l.Duration.String())
	}
	if l.WarmUp > 0 {
		parts = append(parts, "warm-up "+l.WarmUp.String())
	}
	if l.CoolDown > 0 {
		parts = append(parts, "cool-down "+l.CoolDown.String())
	}
	return strings.Join(parts, ", ")
}
