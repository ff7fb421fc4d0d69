// Package page writes a report as one HTML file that needs nothing besides itself: its
// style, its script, and each figure as an svg element with the data that its points
// stand for.
//
// Without the script everything can be read. The script draws the figures again from
// their data, so that they show values, hide series, zoom and change scales; sorts,
// searches and folds the tables; and obeys the keyboard. The page's policy lets no
// request leave and no other script run, whatever the texts of a report hold.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Page is the contents of a report. All its texts may come from anywhere.
type Page struct {
	Title, Description string
	Valid              bool
	// Headline is the first screen, with what weakens the numbers.
	Headline *headline.Headline
	Table    *table.Table
	Figures  []Figure
	Errors   []Errors
	Said     []Said
	Accounts []Account
	// Commands make the run and the report again.
	Commands []string
}

// Figure is a figure with its description for readers who cannot see it, and the addresses
// of its files as the page links them; without them the files lie beside the page.
type Figure struct {
	figure.Figure
	Alt          string
	CSV, Picture string
}

// Errors are the errors of one column.
type Errors struct {
	Of    string
	Kinds []ErrorKind
}

// ErrorKind is a class of errors with the first one's text.
type ErrorKind struct {
	Class string
	Count int64
	First string
	// Messages are the lines that count its distinct messages.
	Messages []string
}

// Said is what the logs of one run's members say of the time of the load.
type Said struct {
	Of    string
	Lines []LogLine
}

// LogLine is one kind of event: when, in seconds of the load; of which members; how
// often; the longest, "" if no line has it; and a line.
type LogLine struct {
	At, Event, Members string
	Times              int64
	Longest, Line      string
}

// Account lists facts about a run or a database.
type Account struct {
	Of    string
	Facts []Fact
}

// Fact is a named text.
type Fact struct{ Name, Text string }

//go:embed page.html.tmpl
var markup string

//go:embed page.css
var style string

//go:embed script
var scripts embed.FS

// script returns the parts of the script in one function, so that they share names with
// each other and with nothing else.
func script() (string, error) {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range []string{"numbers", "plane", "bars", "chart", "pointer", "save", "tables", "search", "page"} {
		part, err := scripts.ReadFile("script/" + name + ".js")
		if err != nil {
			return "", fmt.Errorf("read the page's script: %w", err)
		}
		b.Write(part)
	}
	b.WriteString("})();\n")
	return b.String(), nil
}

// openSections is how many sections of the table are not folded. What they leave is the
// appendix on paper.
const openSections = 2

// leadingFigures is how many of the main figures stand on the first screen.
const leadingFigures = 2

// Write returns the page.
func Write(p Page) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"slug": slug}).Parse(markup)
	if err != nil {
		return nil, fmt.Errorf("read page template: %w", err)
	}
	v, err := newView(p)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return []byte(plaintext.Visible(b.String())), nil
}

// policy lets the page run its own script and nothing else, and load nothing.
func policy(style, script string) string {
	return fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// slug returns a name as part of an id: lower-case letters, digits and hyphens.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}

// ids gives every name an id of its own.
type ids map[string]int

func (ids ids) of(kind, name string) string {
	id := kind + "-" + slug(name)
	ids[id]++
	if n := ids[id]; n > 1 {
		return fmt.Sprintf("%s-%d", id, n)
	}
	return id
}
