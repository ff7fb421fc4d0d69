// Package analyze turns result folders into a report: a table, time series,
// plots, a README and one HTML page. It is a pure function of what was
// recorded: it reads no clock, asks no database, never writes into the records
// it reads, and gives the same bytes when it is run twice.
package analyze

import (
	"context"
	"errors"

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
	// Plots are the time plots to draw; nil draws [DefaultPlots].
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

// Text returns the table with everything that stands below it, for a terminal.
func (r *Report) Text() string { return "" }

// Run analyzes and writes. A missing or broken record is a mark of the report
// and never an error unless nothing at all can be read; errors are of reading
// the folders themselves, of writing, and of ctx.
func Run(ctx context.Context, o Options) (*Report, error) {
	return nil, errors.New("analyze: nothing to analyze")
}

// DefaultPlots returns the time plots of a report, in their order.
func DefaultPlots() []config.Plot { return nil }
