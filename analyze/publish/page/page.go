// Package page writes a report as one self-contained HTML file: its style, its script, and each
// figure as an svg element with the data behind its points.
//
// The page is readable without the script. The script redraws the figures from their data so that
// they show values, hide series, zoom and change scales. It also sorts, searches and folds the
// tables, and handles the keyboard. The page's policy blocks every request and every other script,
// whatever texts a report contains.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Page is a report's contents. Its texts are all untrusted.
type Page struct {
	Title, Description string
	Valid              bool
	// Headline is the first screen, including the marks that weaken the numbers.
	Headline *headline.Headline
	Table    *table.Table
	Figures  []Figure
	Errors   []Errors
	Said     []Said
	Accounts []Account
	// Commands repeat the run and the report.
	Commands []string
}

// Figure adds a description for readers who cannot see the picture, and the addresses of its
// files. Without addresses, the files lie next to the page.
type Figure struct {
	figure.Figure
	Alt          string
	CSV, Picture string
}

// Errors lists the error classes of one column.
type Errors struct {
	Of    string
	Kinds []ErrorKind
}

// ErrorKind is an error class with its first message.
type ErrorKind struct {
	Class string
	Count int64
	First string
	// Messages are lines that count the distinct messages.
	Messages []string
}

// Said lists the events in the logs of one run's members during the load.
type Said struct {
	Of    string
	Lines []LogLine
}

// LogLine is one kind of event: when it happened, in seconds of the load; which members logged it;
// how often; the longest, "" if no line has a duration; and an example line.
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

// script returns the parts of the figures' script, and further parts, wrapped in one function, so
// they share names only among themselves.
func script(further ...string) (string, error) {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range slices.Concat([]string{"numbers", "plane", "bars", "chart", "pointer", "save", "theme"}, further) {
		part, err := scripts.ReadFile("script/" + name + ".js")
		if err != nil {
			return "", fmt.Errorf("read the page's script: %w", err)
		}
		b.Write(part)
	}
	b.WriteString("})();\n")
	return b.String(), nil
}

// openSections is the number of unfolded table sections. On paper, the others form the appendix.
const openSections = 2

// leadingFigures is the number of main figures on the first screen.
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

// policy allows only the page's own script and style, and no loading except from connect, if it is
// not empty.
func policy(style, script, connect string) string {
	if connect != "" {
		connect = " connect-src " + connect + ";"
	}
	return fmt.Sprintf("default-src 'none'; img-src data:;%s style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", connect, digest(style), digest(script))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// slug makes a name usable in an id: lower-case letters, digits and hyphens.
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

// ids assigns a unique id to every name.
type ids map[string]int

func (ids ids) of(kind, name string) string {
	id := kind + "-" + slug(name)
	ids[id]++
	if n := ids[id]; n > 1 {
		return fmt.Sprintf("%s-%d", id, n)
	}
	return id
}
