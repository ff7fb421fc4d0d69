package answers

import (
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// point has the numbers for one stage in one trial.
type point struct {
	clients int
	rate    float64
	ok, p99 float64 // requests/s, ms
}

// maker makes the columns for a report: interleaved trials, each database first in half of them.
type maker struct {
	// columns are the databases in their order, trials their points by stage.
	columns []string
	trials  []map[string][]point
	// load changes the load in a column, record its record.
	load   func(tag string, l *workload.Load)
	record func(tag string, r *run.Run)
}

// one has a stage with 100 clients in each trial.
func one(columns []string, trials ...map[string][2]float64) maker {
	m := maker{columns: columns}
	for _, t := range trials {
		stages := map[string][]point{}
		for tag, v := range t {
			stages[tag] = []point{{clients: 100, ok: v[0], p99: v[1]}}
		}
		m.trials = append(m.trials, stages)
	}
	return m
}

func (m maker) make() (columns []Column) {
	for _, tag := range m.columns {
		columns = append(columns, Column{Name: tag, Valid: true})
	}
	at := time.Unix(1_800_000_000, 0)
	for n, trial := range m.trials {
		manifest := &results.Manifest{Title: "t", Trial: n + 1, Trials: len(m.trials), RunID: fmt.Sprint(n), Format: results.FormatVersion}
		order := slices.Clone(m.columns)
		if n%2 == 1 {
			slices.Reverse(order)
		}
		for _, tag := range order {
			at = at.Add(time.Minute)
			r := m.run(tag, trial[tag])
			r.Info.Manifest, r.Info.Record.LoadStart = manifest, at
			columns[slices.Index(m.columns, tag)].Runs = append(columns[slices.Index(m.columns, tag)].Runs, r)
		}
	}
	return columns
}

// run makes a run of one database.
func (m maker) run(tag string, points []point) *run.Run {
	l := workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 92}, Extent: workload.Extent{Clients: 100, Connections: 100}, Route: workload.Route{Target: "all"}}
	if len(points) > 1 {
		for _, p := range points {
			l.Steps = append(l.Steps, workload.Step{Clients: p.clients, Connections: p.clients, Rate: p.rate})
		}
	} else {
		l.Rate = points[0].rate
	}
	if m.load != nil {
		m.load(tag, &l)
	}
	r := &run.Run{Info: run.Info{Tag: tag, Record: &results.DatabaseRun{Tag: tag, Database: tag, State: results.StateComplete, Load: results.Load{Load: l}, Members: make([]results.Member, 3)}}}
	for _, p := range points {
		latency := &run.Distribution{Max: run.Measured(2*p.p99, 1000), Quantile: func(q float64) run.Measure { return run.Measured(p.p99*q, 1000) }}
		g := &run.Stage{Clients: p.clients, Rate: [2]float64{p.rate}, Throughput: run.Throughput{Average: run.Measured(p.ok, 1000)}, Latency: run.Latency{Due: latency}}
		if p.rate > 0 {
			g.Latency.Clock = run.FromDue
		}
		if len(points) > 1 {
			g.Label = run.ClientsText(p.clients)
			if p.rate > 0 {
				g.Label = run.RateText(p.rate, 0)
			}
		}
		g.Availability.Success, g.Availability.Gap = run.Measured(100, 1000), run.Measure{Value: 100, Low: 40, High: 100}
		r.Stages = append(r.Stages, g)
	}
	if m.record != nil {
		m.record(tag, r)
	}
	return r
}
