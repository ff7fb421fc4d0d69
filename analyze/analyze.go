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
	// Out is the folder to write into. By default it is FOLDER/report; for several
	// folders the folder "report" beside the first.
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
// and never an error unless nothing at all can be read; errors are of reading
// the folders themselves, of writing, and of ctx.
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
	columns, marks, err := readAll(ctx, o)
	if err != nil {
		return nil, err
	}
	out, err := newOutput(o)
	if err != nil {
		return nil, err
	}
	d := &document{
		Report:  &Report{Dir: out.dir, Table: newTable(columns), Marks: marks, errors: errorsOf(columns), summary: summaries(columns)},
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
func readAll(ctx context.Context, o Options) (columns []*column, marks []Mark, err error) {
	if len(o.Folders) == 0 && o.Classic == nil {
		return nil, nil, errors.New("nothing to analyze: no result folder and no classic inputs")
	}
	var problems []error
	for _, dir := range o.Folders {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		read, err := readFolder(dir)
		if err != nil {
			problems = append(problems, err)
			text := fmt.Sprintf("%s cannot be read: %v", filepath.Base(dir), bare(err))
			marks = append(marks, Mark{Mark: results.Mark{Code: "gap", Text: text}})
			continue
		}
		if len(read) > 0 {
			marks = append(marks, runMarks(read[0].manifest, dir, len(o.Folders) > 1)...)
		}
		columns = append(columns, read...)
	}
	if o.Classic != nil {
		columns = append(columns, readClassic(o.Classic)...)
	}
	if len(columns) == 0 {
		return nil, nil, errors.Join(append([]error{errors.New("nothing to analyze: no database was recorded")}, problems...)...)
	}
	unique(columns)
	for _, c := range columns {
		for _, m := range c.run.Validity {
			marks = append(marks, Mark{c.tag, m})
		}
		if m := c.rateMark(); m != nil {
			marks = append(marks, Mark{c.tag, *m})
		}
		for _, g := range c.gaps {
			marks = append(marks, Mark{c.tag, results.Mark{Code: "gap", Text: g}})
		}
	}
	return columns, marks, nil
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
