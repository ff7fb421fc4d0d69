package analyze

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/table"
)

//go:embed report.html.tmpl
var htmlTemplate string

// page is the data of the template.
type page struct {
	*Report
	Lines    []pageLine
	Sections []table.Section
	Span     int // columns of the table, the names' included
	Errors   []columnErrors
	Pictures []picture
	Accounts []account
	Commands []string
}

type pageLine struct {
	Text string
	Bad  bool
}

// picture is a figure inside the page. Its SVG is an image, so that its ids stay its
// own.
type picture struct {
	Name, Alt string
	Source    template.URL
}

// writeHTML writes the report as one page that needs nothing else.
func (d *document) writeHTML() error {
	p := page{
		Report: d.Report, Sections: d.Table.Sections(), Span: len(d.Table.Columns) + 1,
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
		p.Pictures = append(p.Pictures, picture{f.Name, chart.Describe(f),
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
