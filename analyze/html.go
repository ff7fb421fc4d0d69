package analyze

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
)

//go:embed report.html.tmpl
var htmlTemplate string

// page is what the template shows.
type page struct {
	*Report
	Lines    []pageLine
	Sections []section
	Span     int // columns of the table, the names' included
	Errors   []columnErrors
	Pictures []picture
	Accounts []account
	Commands []string
}

// pageLine is a mark.
type pageLine struct {
	Text string
	Bad  bool
}

// section is a part of the table.
type section struct {
	Name string
	Rows []Row
}

// picture is a figure inside the page. As an image its SVG keeps its own names.
type picture struct {
	Name, Alt string
	Source    template.URL
}

// writeHTML writes the report as one page that needs nothing else.
func (d *document) writeHTML() error {
	p := page{
		Report: d.Report, Sections: d.Table.sections(), Span: len(d.Table.Columns) + 1,
		Errors: d.errors, Accounts: d.accounts(), Commands: d.commands(),
	}
	for _, l := range d.markLines() {
		p.Lines = append(p.Lines, pageLine{l, strings.Contains(l, "INVALID ")})
	}
	for _, f := range d.drawn {
		var svg bytes.Buffer
		if err := figure.SVG(&svg, f); err != nil {
			return err
		}
		p.Pictures = append(p.Pictures, picture{f.Name, describe(f),
			template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes()))})
	}
	t, err := template.New("report").Parse(htmlTemplate)
	if err != nil {
		return fmt.Errorf("read page template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return d.out.write(d.out.html, b.Bytes())
}

// sections are the rows that are shown, by their parts.
func (t *Table) sections() (out []section) {
	for _, row := range t.Rows {
		if row.Raw {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Name != row.Section {
			out = append(out, section{Name: row.Section})
		}
		out[len(out)-1].Rows = append(out[len(out)-1].Rows, row)
	}
	return out
}
