package curve

import (
	"strings"

	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/workload"
)

// valueName is the heading above the swept values.
func (s *Sweep) valueName() string {
	if s.Key == workload.SweepPreload {
		return "data"
	}
	return string(s.Key)
}

// Header returns the column headings for a table with points.
func (s *Sweep) Header() []string {
	header := []string{s.valueName()}
	for _, c := range s.Columns {
		header = append(header, c.Name)
	}
	return header
}

// Name is the value at the point, with a note if it is on the way back.
func (p Point) Name() string {
	if p.Down {
		return p.Text + ", down"
	}
	return p.Text
}

// Lines returns the text and spread.
func (c Cell) Lines() []string {
	if c.Spread == "" {
		return []string{c.Text}
	}
	return []string{c.Text, c.Spread}
}

// row returns the name and cells of a point as a table row.
func (p Point) row() []string {
	row := []string{p.Name()}
	for _, c := range p.Cells {
		row = append(row, strings.Join(c.Lines(), "\n"))
	}
	return row
}

// Text formats the sweep for a terminal, one table per database.
func (s *Sweep) Text() string {
	var b strings.Builder
	for _, c := range s.Curves {
		b.WriteString("\n" + s.Title() + ": " + c.Name + "\n")
		parts := make([][][]string, 1, 2)
		for i, p := range c.Points {
			if i > 0 && p.Down && !c.Points[i-1].Down {
				parts = append(parts, nil)
			}
			parts[len(parts)-1] = append(parts[len(parts)-1], p.row())
		}
		b.WriteString(table.Frame(s.Header(), parts))
	}
	return plaintext.Visible(b.String())
}

// Markdown formats the sweep as Markdown tables.
func (s *Sweep) Markdown() string {
	clean := func(text string) string { return strings.ReplaceAll(plaintext.Markdown(text), "|", "\\|") }
	var b strings.Builder
	b.WriteString("\n## " + s.Title() + "\n")
	for _, c := range s.Curves {
		var rows [][]string
		for _, p := range c.Points {
			rows = append(rows, p.row())
		}
		b.WriteString("\n" + clean(c.Name) + ":\n\n" + plaintext.Table(s.Header(), rows, 1))
	}
	return b.String()
}
