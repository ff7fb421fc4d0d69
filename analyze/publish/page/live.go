package page

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

//go:embed live.html.tmpl
var liveMarkup string

// liveStyle is added on live pages: more figures side by side, and headings on one line.
const liveStyle = ".many { grid-template-columns: repeat(auto-fill, minmax(min(27rem, 100%), 1fr)); }\n.low th { white-space: nowrap; }\n"

// livePage is the data for the template.
type livePage struct {
	Title, Policy string
	Style         template.CSS
	Script        template.JS
	Figures       []picture
}

// Live returns the page for a run in progress, with figures that have no points yet. Its script
// takes the points from the server-sent events at the address "events", relative to the page.
func Live(title string, figures []Figure) ([]byte, error) {
	t, err := template.New("live").Parse(liveMarkup)
	if err != nil {
		return nil, fmt.Errorf("read template of live pages: %w", err)
	}
	css := style + palette() + liveStyle
	js, err := script("live")
	if err != nil {
		return nil, err
	}
	v := livePage{Title: title, Style: template.CSS(css), Script: template.JS(js), Policy: policy(css, js, "'self'")}
	ids := ids{}
	for _, f := range figures {
		one, err := newPicture(ids, f, liveBins)
		if err != nil {
			return nil, err
		}
		v.Figures = append(v.Figures, one)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("write live page: %w", err)
	}
	return []byte(plaintext.Visible(b.String())), nil
}

// LiveData appends a figure in the form that [Live]'s script reads. Each series takes its points
// from the line at the same index; its own points are ignored.
func LiveData(b []byte, f figure.Figure, lines []Line) ([]byte, error) {
	if len(lines) != len(f.Series) {
		return nil, fmt.Errorf("encode figure %s: it must have a line for each series, got %d for %d", f.Name, len(lines), len(f.Series))
	}
	d := dataOf(f)
	d.Xs = nil
	one, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode figure %s: %w", f.Name, err)
	}
	b = append(append(b, one[:len(one)-1]...), ',')
	return append(appendLines(b, lines), '}'), nil
}
