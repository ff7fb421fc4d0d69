package headline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// Facts are numbers for each database's whole load.
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

// factsOf returns the facts for a report's columns.
func factsOf(columns []answers.Column) Facts {
	f := Facts{Rows: []Fact{}}
	for _, c := range columns {
		f.Columns = append(f.Columns, c.Name)
	}
	type shown struct {
		name, short string
		of          func(answers.Column) string
	}
	list := []shown{{"longest time without an answer", "longest pause", pauseFact}, {"keys", "keys", keysFact}}
	for _, half := range all.Halves() {
		if finder, ok := half.(abilities.Finder); ok {
			for _, finding := range finder.Findings() {
				list = append(list, shown{finding.Name, finding.Short, func(c answers.Column) string { return finding.Of(c.Runs) }})
			}
		}
	}
	list = append(list, []shown{
		{"server CPU per 1,000 requests", "CPU/1,000 requests", measureFact(serverCPU, func(v float64) string { return table.Significant(v) + " s" })},
		{"server memory", "server memory", measureFact(serverMemory, run.HumanSize)},
		{"disk bytes per payload byte", "disk bytes/payload byte", measureFact(diskBytes, table.Significant)},
	}...)
	for _, one := range list {
		fact := Fact{Name: one.name, Short: one.short}
		for _, c := range columns {
			fact.Texts = append(fact.Texts, one.of(c))
		}
		if strings.Join(fact.Texts, "") != "" {
			f.Rows = append(f.Rows, fact)
		}
	}
	return f
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

// longest returns the length of the longest text, in characters.
func (f *Fact) longest() int { return lineWidth(strings.Join(f.Texts, "\n")) }

// line formats a fact of several databases as a line.
func (f *Fact) line(columns []string) string {
	var parts []string
	for i, text := range f.Texts {
		parts = append(parts, columns[i]+" "+cmp.Or(text, "-"))
	}
	return strings.TrimRight(table.Fold(f.Short+": "+strings.Join(parts, " · "), screenWidth, "  "), "\n") + "\n"
}

// ByDatabase returns a heading row with the facts' short names and a row for each database.
func (f Facts) ByDatabase() [][]string { return f.table(func(row Fact) string { return row.Short }) }

// table returns a heading row with the facts' names and a row for each database.
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

func pauseFact(c answers.Column) string {
	spread, first := c.Measure(answers.Pause)
	if !first.Known() {
		return ""
	}
	return answers.PauseText(first, spread.Median)
}

// keysFact states whether the database's own key count agrees with the load's.
func keysFact(c answers.Column) string {
	var texts []string
	for _, r := range c.Runs {
		k := r.Info.Record.Keys
		switch {
		case k == nil:
			return ""
		case k.Error != "":
			texts = append(texts, "not counted")
		case k.After-k.Before < k.MinAdded || k.After-k.Before > k.MaxAdded:
			texts = append(texts, fmt.Sprintf("%s found, %s to %s expected", table.Count(k.After-k.Before), table.Count(k.MinAdded), table.Count(k.MaxAdded)))
		default:
			texts = append(texts, "all found")
		}
	}
	slices.Sort(texts)
	return strings.Join(run.Distinct(texts), "; ")
}

// measureFact formats a number's median over the trials.
func measureFact(of func(*run.Run) run.Measure, text func(float64) string) func(answers.Column) string {
	return func(c answers.Column) string {
		spread, first := c.Measure(of)
		if !first.Known() {
			return ""
		}
		return text(spread.Median)
	}
}
