package analyze

import (
	"context"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/config"
)

// document is a report being written.
type document struct {
	*Report
	columns []*column
	series  []*series // of each column
	plots   []config.Plot
	out     *output
	// experiment is the classic file that was analyzed, nil if none was.
	experiment *config.Experiment
	// classic is the classic README that is asked for; nil writes ours.
	classic *config.Report
	drawn   []figure.Figure
}

// write writes every part of the report in order.
func (d *document) write(ctx context.Context) error {
	steps := []func() error{d.writeTable, d.writeSeries, d.writeByClients}
	d.drawn = d.figures()
	for _, f := range d.drawn {
		steps = append(steps, func() error { return d.out.figure(f) })
	}
	for _, step := range append(steps, d.writeReadme, d.writeHTML) {
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
	data, err := d.Table.csv()
	if err != nil {
		return err
	}
	if err := d.out.write(d.out.tableCSV, data); err != nil {
		return err
	}
	if data, err = d.json(); err != nil {
		return err
	}
	return d.out.write(d.out.tableJSON, data)
}

// writeSeries writes each column's seconds and its by-key files.
func (d *document) writeSeries() error {
	for i, c := range d.columns {
		s := d.series[i]
		if len(s.unix) == 0 {
			continue
		}
		for _, f := range []struct {
			logical string
			records [][]string
		}{
			{fileAggregate, s.records()},
			{fileMemory, s.memoryByKey(len(c.servers))},
			{fileReads, s.readsByKey()},
			{fileWrites, s.writesByKey()},
		} {
			if err := d.out.csv(d.out.column(c, f.logical), f.records); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeByClients writes the classic files of each plot by number of clients.
func (d *document) writeByClients() error {
	for _, p := range d.plots {
		base := d.out.dir + "/" + p.Column + "-BY-CLIENT-NUM"
		if err := d.out.csv(base+".csv", byClientRecords(d.columns, d.series, p.Column)); err != nil {
			return err
		}
		if !d.stepped() {
			continue
		}
		if err := d.out.csv(base+"-aggregated.csv", byClientAggregated(d.columns, d.series, p.Column)); err != nil {
			return err
		}
	}
	return nil
}
