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
	Raw   bool   `json:"raw,omitempty"`
	Cells []Cell `json:"cells"`
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
	// Missing says why there is no value.
	Missing string `json:"missing,omitempty"`
}

// newTable makes the table of the columns.
func newTable(columns []*column) *Table {
	t := &Table{}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.header())
	}
	for _, r := range rows(columns) {
		line := Row{Name: r.name, Unit: r.unit, Definition: r.definition, Raw: r.raw}
		empty := true
		for _, c := range columns {
			cell := r.cell(c)
			empty = empty && cell.Missing != ""
			line.Cells = append(line.Cells, cell)
		}
		if r.optional && empty {
			continue
		}
		t.Rows = append(t.Rows, line)
	}
	t.footnotes()
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

// unmeasured says why cells have no value, each reason once.
func (t *Table) unmeasured() (notes []string) {
	var reasons []string
	names := map[string][]string{}
	for _, row := range t.Rows {
		if row.Raw {
			continue
		}
		for i, cell := range row.Cells {
			if cell.Missing == "" {
				continue
			}
			reason := cell.Missing
			if len(t.Columns) > 1 {
				reason = t.Columns[i].Tag + ": " + reason
			}
			if names[reason] == nil {
				reasons = append(reasons, reason)
			}
			names[reason] = append(names[reason], row.Name)
		}
	}
	for _, r := range reasons {
		notes = append(notes, fmt.Sprintf("not measured: %s: %s", strings.Join(names[r], ", "), r))
	}
	return notes
}

// differences are what makes columns hard to compare, a line each.
func differences(columns []*column) (notes []string) {
	for _, d := range []struct {
		what string
		of   func(*column) string
	}{
		{"operations or read modes", func(c *column) string { return operation(c).Text }},
		{"clients on connections", func(c *column) string { return clientsCell(c).Text }},
		{"key + value bytes", func(c *column) string { return payload(c).Text }},
		{"fsync", func(c *column) string { return c.run.Fsync }},
		{"requests", func(c *column) string { return configured(c) }},
		{"warm-up", func(c *column) string { return c.run.Load.WarmUp.String() }},
	} {
		var parts []string
		same := true
		for _, c := range columns {
			parts = append(parts, fmt.Sprintf("%s: %s", c.tag, d.of(c)))
			same = same && d.of(c) == d.of(columns[0])
		}
		if !same {
			notes = append(notes, "UNEQUAL "+d.what+": "+strings.Join(parts, "; "))
		}
	}
	return notes
}

func configured(c *column) string {
	if c.run.Load.Requests == 0 {
		return c.run.Load.Duration.String()
	}
	return humanize.Comma(c.run.Load.Requests)
}
