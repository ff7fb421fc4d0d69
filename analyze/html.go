package analyze

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"

	"github.com/coreos/dbtester/analyze/figure"
)

//go:embed report.html.tmpl
var htmlTemplate string

// picture is a figure inside the page. As an image its SVG keeps its own names.
type picture struct {
	Name, Title string
	Source      template.URL
}

// writeHTML writes the report as one page that needs nothing else.
func (d *document) writeHTML() error {
	page := struct {
		*Report
		Lines, Setup []string
		Errors       []columnErrors
		Pictures     []picture
	}{Report: d.Report, Lines: d.markLines(), Setup: d.setup(), Errors: d.errors}
	for _, f := range d.drawn {
		var svg bytes.Buffer
		if err := figure.SVG(&svg, f); err != nil {
			return err
		}
		page.Pictures = append(page.Pictures, picture{f.Name, f.Title,
			template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes()))})
	}
	t, err := template.New("report").Parse(htmlTemplate)
	if err != nil {
		return fmt.Errorf("read page template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return d.out.write(d.out.html, b.Bytes())
}
