package selfcheck

import (
	"context"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// recorded is a [load.Sink] that keeps ok latencies in a single step, by clock.
type recorded struct {
	latency    map[results.Timing]results.Latency
	histograms map[results.Timing]*hdrhistogram.Histogram
}

var _ load.Sink = (*recorded)(nil)

func newRecorded() *recorded {
	return &recorded{latency: map[results.Timing]results.Latency{}, histograms: map[results.Timing]*hdrhistogram.Histogram{}}
}

// Second merges the exact counts and maxima.
func (r *recorded) Second(s load.Second) error {
	for i := range s.Intervals {
		for _, t := range results.Timings {
			r.latency[t] = r.latency[t].Merge(*s.Intervals[i].Latency(t, workload.OK))
		}
	}
	return nil
}

// Total merges histograms over all operations.
func (r *recorded) Total(t load.Total) error {
	if t.Series.Outcome == workload.OK {
		h := r.histograms[t.Series.Timing]
		if h == nil {
			h = histogram.New()
			r.histograms[t.Series.Timing] = h
		}
		h.Merge(t.Histogram)
	}
	return nil
}

// quantile returns the recorded quantile as a report prints it.
func (r *recorded) quantile(t results.Timing, q float64) int64 {
	if r.latency[t].Count == 0 {
		return 0
	}
	return r.latency[t].Quantile(r.histograms[t], q)
}

// apply runs one step in a load of numbered requests.
func apply(ctx context.Context, spec load.Spec, step load.Step, clients []database.Client) (*recorded, *load.Recorder, error) {
	spec.Operation, spec.KeySize = workload.OpWrite, 8
	sink := newRecorded()
	rec := load.NewRecorder(sink, spec.Operations(), nil)
	if _, err := load.NewEngine(spec, rec).Step(ctx, step, clients); err != nil {
		return nil, nil, fmt.Errorf("apply the load: %w", err)
	}
	return sink, rec, nil
}
