package page

import (
	"html/template"
	"slices"
	"unicode"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/table"
)

// view is the data for the template.
type view struct {
	Page
	first
	Policy   string
	Style    template.CSS
	Script   template.JS
	Columns  []table.Header
	Crowded  bool
	Sections []section // unfolded sections
	More     []section
	// Elsewhere are the notes in sections without rows.
	Elsewhere []string
	Leading   []picture // on the first screen
	Pictures  []picture // the other main figures
	Others    []picture // shown on demand
}

// rows is the data for sections in the template.
type rows struct {
	Columns       []table.Header
	Crowded, Open bool
	Sections      []section
}

// Shown returns the unfolded sections.
func (v *view) Shown() rows { return rows{v.Columns, v.Crowded, true, v.Sections} }

// Folded returns the folded sections.
func (v *view) Folded() rows { return rows{v.Columns, v.Crowded, false, v.More} }

// All returns all sections in order.
func (v *view) All() []section { return slices.Concat(v.Sections, v.More) }

type section struct {
	ID, Name string
	Rows     []row
	Zeros    int      // number of rows that are 0 everywhere
	Stepped  []string // names of rows that only the tidy file has, by step
}

// Count is the row count in words. The methods below count other things.
func (s section) Count() string    { return english.Plural(len(s.Rows), "row", "") }
func (s section) ZeroText() string { return "zero everywhere: " + english.Plural(s.Zeros, "row", "") }
func (v *view) NoteCount() string  { return english.Plural(len(v.Table.Notes), "note", "") }
func (v *view) OtherCount() string { return english.Plural(len(v.Others), "more figure", "") }

type row struct {
	table.Line
	ID   string
	Zero bool // every column is 0
}

// picture is a figure inside the page.
type picture struct {
	ID, Name          string
	Title, Short, Alt string
	CSV, Picture      string // addresses of files next to the page
	Heat              bool
	SVG               template.HTML
	Data              template.JS
}

// GradeText explains in a sentence why the grade is not better.
func (v *view) GradeText() string {
	text := []rune(v.Headline.Grade.Text)
	if len(text) > 0 {
		text[0] = unicode.ToUpper(text[0])
	}
	return string(text)
}
