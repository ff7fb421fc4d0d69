package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/tools/experiment"
)

// Both processes write at random times, so neither always writes right after the other. Both write
// the watched keys, because members notify the watchers on a key about a write before they answer
// it.
const (
	writesApart = 0.1
	besideTitle = "etcd, three members: 100 writes a second beside 10,000 watchers of one of a hundred keys each, and as many to the same keys by a second process, which has no watchers"
)

// writing is the load in either process.
var writing = load.Spec{Seed: 2, Load: workload.Load{
	Content:  workload.Content{Operation: workload.OpUpdate},
	Keyspace: workload.Keyspace{Keys: 100, KeyLaw: workload.KeysUniform},
	Extent:   workload.Extent{Clients: 20},
	Pace:     workload.Pace{Rate: 100, Arrival: workload.ArrivalPoisson},
	Sizing:   workload.Sizing{KeySize: 32, ValueSize: 256},
	Limits:   workload.Limits{Timeout: 5 * time.Second, Drain: 5 * time.Second},
}}

// beside checks that writes do not look slower in a process with watchers than in another process.
func beside(program string) experiment.Trial {
	const lasts, second = 3 * time.Minute, 170 * time.Second
	var theirs writes
	var failed error
	w := writing
	return experiment.Trial{
		Name: "etcd-writes", Title: besideTitle,
		Members: members, // with agents in separate processes, as on other machines
		Text: hosts + "consistency: false\n" + fmt.Sprintf("load: {operation: %s, keys: %d, rate: %g, arrival: %s, duration: %v, clients: %d, key_size: %d, value_size: %d, timeout: %v}\nwatch: {watchers: %d, connections: 50, of: key}\ndatabases: {etcd: {}}\n",
			w.Operation, w.Keys, w.Rate, w.Arrival, lasts, w.Clients, w.KeySize, w.ValueSize, w.Timeout, watching),
		Beside: func(ctx context.Context, _ *os.Process, dir string) {
			if experiment.Await(ctx, dir, "load start") {
				theirs, failed = write(ctx, etcd.New(), second, members)
			}
		},
		Judge: func(manifest string) ([]experiment.Finding, error) {
			if failed != nil {
				return nil, fmt.Errorf("the second process: %w", failed)
			}
			o, err := read(manifest)
			if err != nil {
				return nil, err
			}
			ours, err := latencies(program, manifest)
			if err != nil {
				return nil, err
			}
			list := []experiment.Finding{
				experiment.Exactly("lost, again, after newer ones, not come or not judged", o.wrong(), 0),
				experiment.Found("writes of the process with watchers, and of the second one", fmt.Sprintf("%d, %d", o.Counts.Writes, theirs.n), "known", true),
			}
			for _, p := range []struct {
				name   string
				theirs time.Duration
			}{{latencyP50, theirs.p50}, {latencyP99, theirs.p99}} {
				of := p.theirs.Seconds() * 1e3
				off := ours[p.name]/of - 1
				list = append(list, experiment.Found(p.name+" of writes of the process with watchers, and of the second one, from when they were due",
					fmt.Sprintf("%.2f ms, %.2f ms (%+.1f %%)", ours[p.name], of, 100*off), fmt.Sprintf("within %.0f %%", 100*writesApart), off <= writesApart && off >= -writesApart))
			}
			return list, nil
		},
	}
}

// The rows in a report that are compared.
const latencyP50, latencyP99 = "Latency p50", "Latency p99"

// latencies returns the percentiles in a run report, in milliseconds.
func latencies(program, manifest string) (experiment.Report, error) {
	report, err := experiment.Output(context.Background(), program, "analyze", "--format", "json", filepath.Dir(manifest))
	if err != nil {
		return nil, err
	}
	return experiment.ReadReport(report, latencyP50, latencyP99)
}

// writes measures the requests by this process. Latencies are counted from when they were due.
type writes struct {
	n        int64
	p50, p99 time.Duration
}

// write writes for as long as lasts, as dbtester does. It fails if a request does.
func write(ctx context.Context, driver database.Driver, lasts time.Duration, hosts []string) (w writes, err error) {
	clients := writing.Clients
	dialer := connect.Dialer{Driver: driver, Target: database.Target{MaxBytes: writing.KeySize + writing.ValueSize}}
	for i, host := range hosts {
		dialer.Target.Endpoints = append(dialer.Target.Endpoints, host+":2379")
		dialer.Members = append(dialer.Members, i)
	}
	conns, err := dialer.Open(ctx, clients)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, database.CloseAll(conns)) }()
	recorder := load.NewRecorder(&w, writing.Operations(), nil)
	step := load.Step{Step: workload.Step{Clients: clients, Connections: clients, Rate: writing.Rate, Duration: lasts}}
	if _, err := load.NewEngine(writing, recorder).Step(ctx, step, conns); err != nil {
		return w, err
	}
	if t := recorder.Totals(); t.OK != w.n || t.OK == 0 {
		return w, fmt.Errorf("%d of its requests have a latency: %+v", w.n, t)
	}
	return w, nil
}

var _ load.Sink = (*writes)(nil)

// Second implements [load.Sink].
func (w *writes) Second(load.Second) error { return nil }

// Total implements [load.Sink].
func (w *writes) Total(t load.Total) error {
	switch {
	case t.Series.Outcome != workload.OK:
		return fmt.Errorf("%d of its requests ended %s", t.Histogram.TotalCount(), t.Series.Outcome)
	case t.Series.Timing == results.TimingResponse:
		b := histogram.BucketsOf(t.Histogram)
		w.n, w.p50, w.p99 = b.Total(), time.Duration(b.Quantile(0.5)), time.Duration(b.Quantile(0.99))
	}
	return nil
}
