// Package analyze turns result folders into a report: a table, time series,
// plots, a README and one HTML page. It is a pure function of what was
// recorded: it reads no clock, asks no database, never writes into the records
// it reads, and gives the same bytes when it is run twice.
package analyze

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// Options say what to analyze and where to write the report.
type Options struct {
	// Folders are result folders, in the order of the table's columns. A tag that
	// occurs in several becomes "TAG #2" and so on from the second.
	Folders []string
	// Classic, if not nil, adds the files of its Inputs as columns. Without Out its
	// Report says where the outputs go.
	Classic *config.Experiment
	// Out is the folder to write into. By default it is "report" in the one folder,
	// or in the folder that holds all of several; [IsReport] tells such a one from
	// result folders.
	Out string
	// Plots are the time plots to draw; nil draws [config.DefaultPlots].
	Plots []config.Plot
}

// Report is what was made of the records.
type Report struct {
	Title       string
	Description string
	// Dir is the folder that holds the outputs; classic files may name others.
	Dir string
	// Files are the files that were written, in the order of writing.
	Files []string
	Table *Table
	// Unread are the folders and columns of which nothing could be read; the report is
	// of the others.
	Unread []string
	// Marks are what must be said beside the numbers, gaps in the records
	// included, in the order of the columns.
	Marks []Mark

	errors  []columnErrors
	summary string
}

// Mark is a mark of one column, or of a whole run when Tag is "".
type Mark struct {
	Tag string `json:"tag,omitempty"`
	results.Mark
}

// Valid reports whether no mark makes the numbers invalid.
func (r *Report) Valid() bool {
	for _, m := range r.Marks {
		if m.Invalid {
			return false
		}
	}
	return true
}

// Run analyzes and writes. A missing or broken record is a mark of the report
// and never an error unless nothing at all can be read, of which nothing is
// written then; errors are of reading the folders themselves, of writing, and of
// ctx.
func Run(ctx context.Context, o Options) (*Report, error) {
	d, err := newDocument(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	if err := d.write(ctx); err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	return d.Report, nil
}

// newDocument reads the records and makes everything but the files.
func newDocument(ctx context.Context, o Options) (*document, error) {
	columns, marks, unread, err := readAll(ctx, o)
	if err != nil {
		return nil, err
	}
	out, err := newOutput(o)
	if err != nil {
		return nil, err
	}
	d := &document{
		Report:  &Report{Dir: out.dir, Table: newTable(columns), Marks: marks, Unread: unread, errors: errorsOf(columns), summary: summaries(columns)},
		columns: columns, out: out, plots: plotsOf(o), experiment: o.Classic,
	}
	d.Title, d.Description = titleOf(o, columns)
	if o.Classic != nil && o.Out == "" {
		d.classic = &o.Classic.Report
	}
	for _, c := range columns {
		d.series = append(d.series, newSeries(c))
	}
	return d, nil
}

// plotsOf are the time plots that are asked for.
func plotsOf(o Options) []config.Plot {
	switch {
	case o.Plots != nil:
		return o.Plots
	case o.Classic != nil && len(o.Classic.Plots) > 0:
		return o.Classic.Plots
	}
	return config.DefaultPlots()
}

// readAll reads every folder and the classic inputs. Tags become unique.
func readAll(ctx context.Context, o Options) (columns []*column, marks []Mark, unread []string, err error) {
	if len(o.Folders) == 0 && o.Classic == nil {
		return nil, nil, nil, errors.New("nothing to analyze: no result folder and no classic inputs")
	}
	var problems []error
	for _, dir := range o.Folders {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		read, err := readFolder(dir)
		if err != nil {
			problems = append(problems, err)
			name := filepath.Base(dir)
			unread = append(unread, name)
			marks = append(marks, Mark{Mark: results.Mark{Code: "gap", Text: fmt.Sprintf("%s cannot be read: %v", name, bare(err))}})
			continue
		}
		if len(read) > 0 {
			marks = append(marks, runMarks(read[0].manifest, dir, len(o.Folders) > 1)...)
		}
		columns = append(columns, read...)
	}
	if o.Classic != nil {
		read := readClassic(o.Classic)
		for _, c := range read {
			if c.manifest != nil {
				marks = append(marks, runMarks(c.manifest, c.tag, true)...)
			}
		}
		columns = append(columns, read...)
	}
	unique(columns)
	something := false
	for _, c := range columns {
		if c.empty() {
			c.gap("none of its files can be read")
			unread = append(unread, c.tag)
			problems = append(problems, fmt.Errorf("%s: %s", c.tag, strings.Join(c.gaps, "; ")))
		}
		something = something || !c.empty()
		marks = append(marks, c.marks()...)
	}
	switch {
	case len(columns) == 0:
		return nil, nil, nil, errors.Join(append([]error{errors.New("nothing to analyze: no database was recorded")}, problems...)...)
	case !something:
		return nil, nil, nil, errors.Join(append([]error{errors.New("nothing to analyze: no file can be read")}, problems...)...)
	}
	return columns, marks, unread, nil
}

// marks are what must be said of the column: what control found, then what is
// found here.
func (c *column) marks() (marks []Mark) {
	for _, m := range c.run.Validity {
		marks = append(marks, Mark{c.tag, m})
	}
	for _, m := range []*results.Mark{c.sharedHostMark(), c.rateMark()} {
		if m != nil {
			marks = append(marks, Mark{c.tag, *m})
		}
	}
	for _, g := range c.gaps {
		marks = append(marks, Mark{c.tag, results.Mark{Code: "gap", Text: g}})
	}
	return marks
}

// runMarks are the marks on a whole run, named when there are several.
func runMarks(m *results.Manifest, dir string, several bool) (marks []Mark) {
	for _, v := range m.Validity {
		mark := Mark{Mark: v}
		if several {
			mark.Tag = filepath.Base(dir)
		}
		marks = append(marks, mark)
	}
	return marks
}

// unique numbers the columns of one tag, and gives each tag one colour.
func unique(columns []*column) {
	seen := map[string]int{}
	keys := map[string]int{}
	for _, c := range columns {
		name := c.tag
		if keys[name] == 0 {
			keys[name] = len(keys) + 1
		}
		c.key = keys[name]
		c.repeat = seen[name]
		if seen[name]++; seen[name] > 1 {
			c.tag = fmt.Sprintf("%s #%d", name, seen[name])
		}
	}
}

// titleOf is the title and description of the first run.
func titleOf(o Options, columns []*column) (title, description string) {
	if o.Classic != nil && len(o.Folders) == 0 {
		return o.Classic.Title, o.Classic.Description
	}
	for _, c := range columns {
		if c.manifest != nil {
			return c.manifest.Title, c.manifest.Description
		}
	}
	return "", ""
}
