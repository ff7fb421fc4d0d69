package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

type Section struct {
	Name string
	Rows []Line
}

// Sections returns the rows that are shown, by section.
func (t *Table) Sections() (out []Section) {
	for _, row := range t.Rows {
		if row.Raw {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Name != row.Section {
			out = append(out, Section{Name: row.Section})
		}
		out[len(out)-1].Rows = append(out[len(out)-1].Rows, row)
	}
	return out
}

// Widths in characters. Cells wrap so that a table of one or two databases fits a narrow
// terminal and one of five a wide one; lines below the table wrap at NoteWidth.
const (
	TableWidth                  = 160
	widestCell, leastWidestCell = 40, 18
	NoteWidth                   = 100
)

// cellWidth returns the width at which the cells of n columns wrap, beside names of
// rows.
func cellWidth(names []string, n int) int {
	longest := 0
	for _, name := range names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	const frame = 3 // of a column: a bar and two spaces
	room := (TableWidth-1-longest-frame)/max(n, 1) - frame
	return min(max(room, leastWidestCell), widestCell)
}

// Render draws the table as text like the classic one: a frame of ASCII, right aligned.
func (t *Table) Render() string {
	header := []string{""}
	for _, c := range t.Columns {
		header = append(header, c.Text)
	}
	var parts [][][]string
	for _, part := range t.Sections() {
		var rows [][]string
		for _, row := range part.Rows {
			line := []string{row.Name}
			for _, c := range row.Cells {
				line = append(line, strings.Join(c.lines(), "\n"))
			}
			rows = append(rows, line)
		}
		parts = append(parts, rows)
	}
	return Frame(header, parts)
}

// Frame draws rows in parts, with a line between two parts. The first cell of a row is
// its name. Cells wrap; those with several lines keep them.
func Frame(header []string, parts [][][]string) string {
	w := table.NewWriter()
	w.SetStyle(table.StyleDefault)
	w.Style().Format.Header = text.FormatDefault
	var names []string
	for _, rows := range parts {
		for _, row := range rows {
			names = append(names, row[0])
		}
	}
	width := cellWidth(names, len(header)-1)
	line := func(cells []string) (out table.Row) {
		for i, c := range cells {
			if i > 0 {
				c = foldLines(c, width)
			}
			out = append(out, c)
		}
		return out
	}
	var configs []table.ColumnConfig
	for i := range header {
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.AppendHeader(line(header))
	w.SetColumnConfigs(configs)
	for i, rows := range parts {
		if i > 0 {
			w.AppendSeparator()
		}
		for _, row := range rows {
			w.AppendRow(line(row))
		}
	}
	return w.Render() + "\n"
}

// foldLines wraps each line of a cell.
func foldLines(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Fold(lines[i], width, "")
	}
	return strings.Join(lines, "\n")
}

// lines returns the lines of a cell, one for each stage.
func (c Cell) lines() []string {
	if len(c.Parts) == 0 {
		return []string{c.Text}
	}
	var lines []string
	for _, p := range c.Parts {
		lines = append(lines, p.Label+": "+p.Text)
	}
	lines[len(lines)-1] += strings.TrimPrefix(c.Text, strings.Join(lines, partSeparator)) // footnotes
	return lines
}

// CSV returns every row, one column per database, as in the classic file.
func (t *Table) CSV() ([]byte, error) {
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
	return EncodeCSV(records)
}

func EncodeCSV(records [][]string) ([]byte, error) {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(records); err != nil {
		return nil, fmt.Errorf("encode csv: %w", err)
	}
	return b.Bytes(), nil
}

// Fold breaks s at spaces into lines of at most width characters. Lines after the first
// are indented. A longer word, such as a key in a message, is cut.
func Fold(s string, width int, indent string) string {
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
