package analyze

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// The widths of the text, in characters: cells wrap so that a table of one or
// two databases fits a narrow terminal and one of five a wide one; lines below
// the table wrap at noteWidth.
const (
	tableWidth                  = 160
	widestCell, leastWidestCell = 40, 18
	noteWidth                   = 100
)

// cellWidth is where cells wrap, so that the table has its width.
func (t *Table) cellWidth() int {
	names := 0
	for _, row := range t.Rows {
		if !row.Raw {
			names = max(names, len(row.Name))
		}
	}
	const frame = 3 // of a column: a bar and two spaces
	room := (tableWidth-1-names-frame)/max(len(t.Columns), 1) - frame
	return min(max(room, leastWidestCell), widestCell)
}

// render draws the rows that the text table has, as the classic one: a frame of
// ASCII, right aligned.
func (t *Table) render() string {
	w := table.NewWriter()
	w.SetStyle(table.StyleDefault)
	w.Style().Format.Header = text.FormatDefault
	header := table.Row{""}
	configs := []table.ColumnConfig{{Number: 1, Align: text.AlignRight, AlignHeader: text.AlignRight}}
	width := t.cellWidth()
	for i, c := range t.Columns {
		header = append(header, fold(c.Text, width, ""))
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(configs)
	for i, part := range t.sections() {
		if i > 0 {
			w.AppendSeparator()
		}
		for _, row := range part.Rows {
			line := table.Row{row.Name}
			for _, c := range row.Cells {
				line = append(line, fold(c.Text, width, ""))
			}
			w.AppendRow(line)
		}
	}
	return w.Render() + "\n"
}

// fold breaks s at spaces into lines of at most width characters, those after
// the first indented. A longer word, such as a key in a message, is cut.
func fold(s string, width int, indent string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for {
			joined := word
			if line != "" && line != indent {
				joined = line + " " + word
			} else if line == indent {
				joined = indent + word
			}
			if utf8.RuneCountInString(joined) <= width {
				line = joined
				break
			}
			if line != "" && line != indent {
				lines, line = append(lines, line), indent
				continue
			}
			cut := []rune(joined)
			lines, line = append(lines, string(cut[:width])), indent
			word = string(cut[width:])
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// csv is every row, one column per database, as the classic file.
func (t *Table) csv() ([]byte, error) {
	header := []string{""}
	for _, c := range t.Columns {
		header = append(header, c.Text)
	}
	records := [][]string{header}
	for _, row := range t.Rows {
		line := []string{row.Name}
		for _, c := range row.Cells {
			line = append(line, c.Text)
		}
		records = append(records, line)
	}
	return encodeCSV(records)
}

func encodeCSV(records [][]string) ([]byte, error) {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(records); err != nil {
		return nil, fmt.Errorf("encode csv: %w", err)
	}
	return b.Bytes(), nil
}

// json is the report for machines: values, units, numbers of samples,
// definitions and marks.
func (r *Report) json() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(struct {
		Title       string         `json:"title"`
		Description string         `json:"description,omitempty"`
		Valid       bool           `json:"valid"`
		Marks       []Mark         `json:"marks"`
		Errors      []columnErrors `json:"errors"`
		Table       *Table         `json:"table"`
	}{r.Title, r.Description, r.Valid(), nonNil(r.Marks), nonNil(r.errors), r.Table})
	if err != nil {
		return nil, fmt.Errorf("encode json: %w", err)
	}
	return b.Bytes(), nil
}

// nonNil makes an empty list print as [].
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// columnErrors are the errors of one database.
type columnErrors struct {
	Tag    string      `json:"tag"`
	Errors []errorLine `json:"errors"`
}

// errorLine is one class of error.
type errorLine struct {
	Class string `json:"class"`
	First string `json:"first,omitempty"`
	Count int64  `json:"count"`
}

// mostErrors bounds the list below the table: classic runs have an entry for
// every message, and a message may hold a key.
const mostErrors = 20

// errorsOf are the errors of the columns that have any.
func errorsOf(columns []*column) (out []columnErrors) {
	for _, c := range columns {
		one := columnErrors{Tag: c.tag}
		rest := int64(0)
		for i, e := range c.errors {
			if i >= mostErrors {
				rest += e.count
				continue
			}
			one.Errors = append(one.Errors, errorLine{e.class, e.text, e.count})
		}
		if rest > 0 {
			one.Errors = append(one.Errors, errorLine{fmt.Sprintf("%d other messages", len(c.errors)-mostErrors), "", rest})
		}
		if len(one.Errors) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// String is what a reader of the table sees of a mark.
func (m Mark) String() string {
	s := m.Code + ": " + m.Mark.Text
	if m.Invalid {
		s = "INVALID " + s
	}
	if m.Tag != "" {
		s = m.Tag + ": " + s
	}
	return s
}

// Text returns the table with everything that stands below it, for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.Table.render())
	section := func(lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n")
		for _, l := range lines {
			b.WriteString(fold(l, noteWidth, "    ") + "\n")
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
	return b.String()
}

func (e errorLine) line() string {
	s := fmt.Sprintf("%q (count %d)", e.Class, e.Count)
	if e.First != "" && e.First != e.Class {
		s += ", first: " + e.First
	}
	return s
}

// markLines are the marks, those that make the run invalid first; what is true of
// several columns is said once.
func (r *Report) markLines() (lines []string) {
	for _, invalid := range []bool{true, false} {
		var said remarks
		for _, m := range r.Marks {
			if m.Invalid == invalid {
				said.add(m.Tag, Mark{Mark: m.Mark}.String())
			}
		}
		lines = append(lines, said.lines()...)
	}
	return lines
}
