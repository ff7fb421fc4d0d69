package analyze

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/publish/trace"
	"github.com/coreos/dbtester/analyze/run/parallel"
)

// write writes every part of the report in order.
func (d *document) write(ctx context.Context) error {
	before := d.out.earlier(d.columns())
	if err := d.all(ctx, []func() error{d.writeTable, d.writeAbilities, d.writeTraces, d.writeSeries, d.writeByClients}); err != nil {
		return err
	}
	d.drawn = d.charts.Figures()
	// The next steps need memory, and the figures no longer need the series.
	d.charts.Series = nil
	for _, r := range d.runs {
		r.Forget()
	}
	return d.all(ctx, []func() error{
		func() error { return d.drawFigures(ctx) }, d.writeReadme, d.writeHTML, func() error { return d.out.drop(before) },
	})
}

// columns returns the columns in time plots.
func (d *document) columns() (names []string) {
	for _, p := range d.charts.Plots {
		names = append(names, p.Column)
	}
	return names
}

// all runs the steps until one fails, and records the files that they wrote.
func (d *document) all(ctx context.Context, steps []func() error) error {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
		d.Files = d.out.files
	}
	return nil
}

func (d *document) writeTable() error {
	if err := d.out.write(d.out.tableTXT, []byte(d.Text())); err != nil {
		return err
	}
	data, err := d.Table.CSV()
	if err != nil {
		return err
	}
	if err := d.out.write(d.out.tableCSV, data); err != nil {
		return err
	}
	if err := d.encode(); err != nil {
		return err
	}
	if err := d.out.write(filepath.Join(filepath.Dir(d.out.tableCSV), fileTidy), d.numbers); err != nil {
		return err
	}
	return d.out.write(d.out.tableJSON, d.encoded)
}

// writeAbilities writes the files that abilities add about each run.
func (d *document) writeAbilities() error {
	for _, half := range all.Halves() {
		filer, ok := half.(abilities.Filer)
		if !ok {
			continue
		}
		for _, r := range d.runs {
			for _, f := range filer.Files(r) {
				if err := d.out.csv(d.out.ofRun(r, f.Name), f.Records); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeTraces writes each run from a result folder as a trace, if requested.
func (d *document) writeTraces() error {
	for _, r := range d.runs {
		if !d.out.trace || r.Dir == "" {
			continue
		}
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		if err := errors.Join(trace.Write(packed, r), packed.Close()); err != nil {
			return err
		}
		if err := d.out.write(d.out.ofRun(r, fileTrace), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// writeSeries extracts the data for figures from the samples of each run, and writes the seconds
// and the by-key files if requested.
func (d *document) writeSeries() error {
	if !d.out.seconds {
		return d.keepSeries()
	}
	for i, r := range d.runs {
		s := d.charts.Series[i]
		if len(s.Unix) == 0 {
			r.ForgetSamples()
			continue
		}
		if err := d.out.lines(d.out.ofRun(r, fileAggregate), s.Lines(d.charts.Drawn(r))); err != nil {
			return err
		}
		r.ForgetSamples()
		for _, f := range []struct {
			logical string
			records [][]string
		}{
			{fileMemory, s.MemoryByKey(len(r.Machines.Servers))},
			{fileReads, s.ReadsByKey()},
			{fileWrites, s.WritesByKey()},
		} {
			if err := d.out.csv(d.out.ofRun(r, f.logical), f.records); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepSeries extracts the data for figures from the samples of each run.
func (d *document) keepSeries() error {
	return parallel.Each(len(d.runs), func(i int) error {
		if s := d.charts.Series[i]; len(s.Unix) > 0 {
			s.Keep(d.charts.Drawn(d.runs[i]))
		}
		d.runs[i].ForgetSamples()
		return nil
	})
}

// drawFigures draws the figures, several at a time.
func (d *document) drawFigures(ctx context.Context) error {
	files := make([][]string, len(d.drawn))
	err := parallel.Each(len(d.drawn), func(i int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		files[i], err = d.out.figure(d.drawn[i])
		return err
	})
	d.out.files = append(d.out.files, slices.Concat(files...)...)
	return err
}

// writeByClients writes the classic files by client count for each plot.
func (d *document) writeByClients() error {
	if !d.out.seconds {
		return nil
	}
	for _, p := range d.charts.Plots {
		base := filepath.Join(d.out.data, p.Column+partByClients)
		if err := d.out.lines(base+".csv", chart.ByClientLines(d.runs, d.charts.Series, p.Column)); err != nil {
			return err
		}
		if !d.charts.Stepped() {
			continue
		}
		if err := d.out.csv(base+partMeans, chart.ByClientMeans(d.runs, d.charts.Series, p.Column)); err != nil {
			return err
		}
	}
	return nil
}
