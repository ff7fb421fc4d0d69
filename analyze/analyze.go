// Package analyze turns result folders into a report: a table, time series, plots, a README and one
// HTML page. It is a pure function: it reads only the records, no clock and no database, never
// writes into them, and produces the same bytes each time.
package analyze

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/answers/choose"
	"github.com/coreos/dbtester/analyze/answers/curve"
	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/table"
)

// Run analyzes the records and writes the report. A missing or broken record is a
// mark in the report, not an error, unless nothing at all can be read; then Run
// writes nothing. Other errors come from reading the folders themselves, from
// writing, and from ctx.
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

// Read analyzes the records and writes nothing; its errors are as for [Run].
func Read(ctx context.Context, o Options) (*Report, error) {
	d, err := newDocument(ctx, o)
	if err == nil {
		err = d.encode()
	}
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	return d.Report, nil
}

// encode makes the machine-readable parts of the report.
func (d *document) encode() (err error) {
	if d.numbers, err = table.Tidy(d.runs); err != nil {
		return err
	}
	d.encoded, err = d.json()
	return err
}

// newDocument reads the records and makes everything except the files.
func newDocument(ctx context.Context, o Options) (*document, error) {
	in, err := readAll(ctx, o)
	if err != nil {
		return nil, err
	}
	out, err := newOutput(o)
	if err != nil {
		return nil, err
	}
	if o.Out == "" {
		out.own = in.outputs
	}
	d := &document{
		Report: &Report{
			Dir: out.dir, Headline: screenOf(in.runs, in.marks, o), Table: table.New(in.runs), Shown: table.Merged(in.runs), Marks: in.marks, Unread: in.unread,
			errors: errorsOf(in.runs), failures: failuresOf(trials.Groups(in.runs)), logEvents: logEventsOf(in.runs), summary: table.Summaries(in.runs),
		},
		runs: in.runs, folders: in.folders, out: out,
	}
	d.Title, d.Description = titleOf(o, in.runs)
	d.charts = &chart.Data{Title: d.Title, Runs: in.runs, Sweeps: d.Headline.Sweeps, Plots: o.Plots, Marks: in.marks}
	for _, r := range in.runs {
		d.charts.Series = append(d.charts.Series, chart.NewSeries(r))
	}
	if o.Classic != nil {
		d.classicFile = o.Classic.Path
		if o.Out == "" {
			d.classic = &o.Classic.Report
		}
	}
	return d, nil
}

// FirstScreen reads the records and returns the headline of their report. It writes
// nothing. It fails if no record can be read, or if ctx ends.
func FirstScreen(ctx context.Context, o Options) (*headline.Headline, error) {
	in, err := readAll(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	return screenOf(in.runs, in.marks, o), nil
}

// screenOf returns the first screen, with sweep curves and the answer to a need.
func screenOf(runs []*run.Run, marks []run.Mark, o Options) *headline.Headline {
	h := headline.Of(runs, marks)
	h.Sweeps, h.Choice = curve.Of(runs), choose.Of(runs, marks, o.Need)
	return h
}

// titleOf returns the title and description: those in the options, in the classic file if it is the
// only input, or in the runs. Experiments with several titles have no common description.
func titleOf(o Options, runs []*run.Run) (title, description string) {
	if o.Classic != nil && len(o.Folders) == 0 {
		return cmp.Or(o.Title, o.Classic.Title), o.Classic.Description
	}
	var titles []string
	for _, r := range runs {
		if r.Info.Manifest != nil {
			titles = append(titles, r.Info.Manifest.Title)
			description = cmp.Or(description, r.Info.Manifest.Description)
		}
	}
	switch titles = run.Distinct(titles); len(titles) {
	case 0:
		return o.Title, ""
	case 1:
		return cmp.Or(o.Title, titles[0]), description
	case 2:
		return cmp.Or(o.Title, strings.Join(titles, " and ")), ""
	}
	return cmp.Or(o.Title, fmt.Sprintf("%s and %d other experiments", titles[0], len(titles)-1)), ""
}
