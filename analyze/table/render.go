package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Section holds the rows that describe the same part of the run.
type Section struct {
	Name string
	// Rows are shown. Zero rows are 0 in every column and may be folded.
	Rows, Zero []Line
	// Stepped rows have one number for each of many steps, too many for a cell.
	Stepped []Line
}

// Defined returns all rows, including those not shown.
func (s Section) Defined() []Line { return slices.Concat(s.Rows, s.Zero, s.Stepped) }

// Sections returns the visible rows by section.
func (t *Table) Sections() (out []Section) {
	names := sections()
	for _, row := range t.Rows {
		names = append(names, row.Section)
	}
	for _, name := range run.Distinct(names) {
		part := Section{Name: name}
		for _, row := range t.Rows {
			switch {
			case row.Raw || row.Section != name:
			case row.zero():
				part.Zero = append(part.Zero, row)
			case row.stepped():
				part.Stepped = append(part.Stepped, row)
			default:
				part.Rows = append(part.Rows, row)
			}
		}
		if len(part.Defined()) > 0 {
			out = append(out, part)
		}
	}
	return out
}

// zero reports whether the row is 0 in every column to which it applies.
func (l Line) zero() bool {
	counted := false
	for _, c := range l.Cells {
		all := []Cell{c}
		if len(c.Parts) > 0 {
			all = nil
			for _, p := range c.Parts {
				all = append(all, p.Cell)
			}
		}
		for _, one := range all {
			counted = counted || one.Value != nil
			if one.applies() && (one.Value == nil || *one.Value != 0 || one.Low != nil && *one.Low != 0 || one.High != nil && *one.High != 0) {
				return false
			}
		}
	}
	return counted
}

// stepped reports whether a column has numbers for more steps than a cell shows.
func (l Line) stepped() bool {
	return slices.ContainsFunc(l.Cells, func(c Cell) bool { return len(c.Parts) > mostStages })
}

// SteppedNote names the rows that only the tidy file has, step by step. It returns nil without any.
func SteppedNote(rows []Line) []string {
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"by step in numbers.csv, since the steps are more than " + strconv.Itoa(mostStages) + ": " + strings.Join(names, ", ")}
}

// LeftOut lists the rows that the table omits: those that are 0 everywhere, and those with numbers
// for many steps.
func (t *Table) LeftOut() (notes []string) {
	var zero []string
	var stepped []Line
	for _, part := range t.Sections() {
		for _, row := range part.Zero {
			zero = append(zero, row.Name)
		}
		stepped = append(stepped, part.Stepped...)
	}
	if len(zero) > 0 {
		notes = append(notes, "0 in every column, and left out: "+strings.Join(zero, ", "))
	}
	return append(notes, SteppedNote(stepped)...)
}

// Widths in characters. Cells wrap so that a table with one or two databases fits a narrow terminal
// and one with five fits a wide terminal. Lines below the table wrap at NoteWidth.
const (
	TableWidth                  = 160
	widestCell, leastWidestCell = 40, 18
	NoteWidth                   = 100
)

// cellWidth returns the width at which cells wrap in n columns next to a column with row names.
func cellWidth(names []string, n int) int {
	longest := 0
	for _, name := range names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	const frame = 3 // per column: a bar and two spaces
	room := (TableWidth-1-longest-frame)/max(n, 1) - frame
	return min(max(room, leastWidestCell), widestCell)
}

// Render draws the table as text like the classic one: an ASCII frame with right-aligned cells.
func (t *Table) Render() string {
	header := []string{""}
	for _, c := range t.Columns {
		header = append(header, strings.Join(c.Lines(), "\n"))
	}
	var parts [][][]string
	for _, part := range t.Sections() {
		if len(part.Rows) == 0 {
			continue
		}
		rows := [][]string{append([]string{part.Name}, make([]string, len(t.Columns))...)}
		for _, row := range part.Rows {
			line := []string{row.Name}
			for _, c := range row.Cells {
				line = append(line, strings.Join(c.Lines(), "\n"))
			}
			rows = append(rows, line)
		}
		parts = append(parts, rows)
	}
	return Frame(header, parts)
}

// Frame draws row groups, with a line between groups. The first cell in a row is its name. Long
// cells wrap; line breaks within cells are kept.
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
				c = foldLines(c, max(width, longestPiece(header[i])))
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

// longestPiece is the length of the longest part of a name that Fold would have to cut inside a
// word.
func longestPiece(name string) int {
	longest := 0
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '\n' || strings.ContainsRune(breaks, r) }) {
		longest = max(longest, utf8.RuneCountInString(piece)+1)
	}
	return min(longest, widestCell)
}

// foldLines wraps each line in a cell.
func foldLines(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Fold(lines[i], width, "")
	}
	return strings.Join(lines, "\n")
}

// EncodeCSV encodes records, escaping each field with [plaintext.Field]. It modifies the records.
func EncodeCSV(records [][]string) ([]byte, error) {
	var b bytes.Buffer
	for _, record := range records {
		for i, field := range record {
			record[i] = plaintext.Field(field)
		}
	}
	if err := csv.NewWriter(&b).WriteAll(records); err != nil {
		return nil, fmt.Errorf("encode csv: %w", err)
	}
	return b.Bytes(), nil
}

// Fold breaks s at spaces into lines of at most width characters. Lines after the first are
// indented. A longer word is cut after its last hyphen, underscore, dot, colon, comma or slash that
// fits. Without any, such as a key in a message, it is cut at width.
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
			letters := []rune(joined)
			at := cutAt(letters[:width], utf8.RuneCountInString(indent))
			lines, line = append(lines, string(letters[:at])), indent
			word = string(letters[at:])
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// breaks are the characters after which a long word may be cut.
const breaks = "-_.:,/"

// cutAt returns where to cut the word at the beginning of letters.
func cutAt(letters []rune, indent int) int {
	for at := len(letters); at > indent+1; at-- {
		if strings.ContainsRune(breaks, letters[at-1]) {
			return at
		}
	}
	return len(letters)
}
