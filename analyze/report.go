package analyze

import (
	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
)

// Report is the result of an analysis.
type Report struct {
	Title       string
	Description string
	// Dir is the output folder; classic files may name others.
	Dir string
	// Files are the written files, in order.
	Files []string
	// Headline is the first screen.
	Headline *headline.Headline
	// Table has a column for each run, Shown has one for all trials of a database.
	Table, Shown *table.Table
	// Unread are the folders and tags without a readable record, which the report lacks.
	Unread []string
	// Marks qualify the numbers, in column order. Gaps in the records are marks.
	Marks []run.Mark

	errors []columnErrors
	// numbers and encoded are the contents of numbers.csv and the JSON file.
	numbers, encoded []byte
	// failures are the errors in all trials of a database together.
	failures  []columnErrors
	logEvents []logEvents
	summary   string
}

// CSV returns the numbers in numbers.csv: one row for each value, with its unit and samples.
func (r *Report) CSV() []byte { return r.numbers }

// JSON returns the contents of all-aggregated.json, as docs/report.schema.json describes.
func (r *Report) JSON() []byte { return r.encoded }

// Markdown returns the first screen as Markdown, for a comment or a job summary.
func (r *Report) Markdown() string { return r.Headline.Markdown() }

// Valid reports whether no mark makes the numbers invalid.
func (r *Report) Valid() bool {
	for _, m := range r.Marks {
		if m.Invalid {
			return false
		}
	}
	return true
}

// Incomplete returns the marks on runs that did not complete.
func (r *Report) Incomplete() (texts []string) {
	for _, m := range r.Marks {
		if m.Code == mark.Incomplete {
			texts = append(texts, m.String())
		}
	}
	return texts
}

// Summary returns every run in the style of command-line HTTP benchmark tools: a few totals, a
// histogram, percentiles, outcomes. The numbers are those in the table.
func (r *Report) Summary() string { return plaintext.Visible(r.summary) }
