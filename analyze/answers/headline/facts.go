package headline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/table"
)

// Facts are numbers for the whole load on each database.
type Facts struct {
	// Columns are the databases.
	Columns []string `json:"columns"`
	Rows    []Fact   `json:"rows"`
}

// Fact is one number for every database.
type Fact struct {
	Name string `json:"name"`
	// Short is the name as a column heading.
	Short string `json:"short"`
	// Texts are the values with their units; "" if missing.
	Texts []string `json:"texts"`
}

// text formats the facts: a line for a single database, otherwise a row per database.
func (f *Facts) text() string {
	if len(f.Columns) > 1 {
		return f.byDatabase()
	}
	var parts []string
	for _, row := range f.Rows {
		parts = append(parts, row.Short+" "+row.Texts[0])
	}
	return table.Fold(strings.Join(parts, " · "), screenWidth, "")
}

// byDatabase formats the facts as a table that fits on a screen, and the facts with the longest texts,
// for which it has no room, as lines below.
func (f *Facts) byDatabase() string {
	shown, below := Facts{Columns: f.Columns, Rows: slices.Clone(f.Rows)}, ""
	rows := aligned(shown.ByDatabase())
	for len(shown.Rows) > 1 && lineWidth(rows) > screenWidth {
		at := 0
		for i := range shown.Rows {
			if shown.Rows[i].longest() > shown.Rows[at].longest() {
				at = i
			}
		}
		below += shown.Rows[at].line(f.Columns)
		shown.Rows = slices.Delete(shown.Rows, at, at+1)
		rows = aligned(shown.ByDatabase())
	}
	return rows + below
}

// longest returns the greatest text length, in characters.
func (f *Fact) longest() int { return lineWidth(strings.Join(f.Texts, "\n")) }

// line formats a fact about several databases as a line.
func (f *Fact) line(columns []string) string {
	var parts []string
	for i, text := range f.Texts {
		parts = append(parts, columns[i]+" "+cmp.Or(text, "-"))
	}
	return strings.TrimRight(table.Fold(f.Short+": "+strings.Join(parts, " · "), screenWidth, "  "), "\n") + "\n"
}

// ByDatabase returns a heading row with the short names of facts and a row for each database.
func (f Facts) ByDatabase() [][]string { return f.table(func(row Fact) string { return row.Short }) }

// table returns a heading row with the names of facts and a row for each database.
func (f *Facts) table(name func(Fact) string) [][]string {
	rows := [][]string{{""}}
	for _, row := range f.Rows {
		rows[0] = append(rows[0], name(row))
	}
	for i, column := range f.Columns {
		line := []string{column}
		for _, row := range f.Rows {
			line = append(line, cmp.Or(row.Texts[i], "-"))
		}
		rows = append(rows, line)
	}
	return rows
}
