// Package page writes a report as one self-contained HTML file: its style, its script, and each
// figure as an svg element with the data behind its points.
//
// The page is readable without the script. The script redraws the figures from their data so that
// they show values, hide series, zoom and change scales. It also sorts, searches and folds the
// tables, and handles the keyboard. The page's policy blocks every request and every other script,
// whatever texts a report contains.
package page

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/table"
)

// Page holds the contents of a report. Its texts are all untrusted.
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

// Errors lists the error classes in one column.
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

// Said lists the events in the member logs of one run during the load.
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
