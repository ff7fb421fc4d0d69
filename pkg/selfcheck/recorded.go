package selfcheck

import (
	"context"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// recorded is a [load.Sink] that keeps what a single step recorded of its ok
// requests, by clock.
type recorded struct {
	latency    map[results.Timing]results.Latency
	histograms map[results.Timing]*hdrhistogram.Histogram
}

var _ load.Sink = (*recorded)(nil)

func newRecorded() *recorded {
	return &recorded{latency: map[results.Timing]results.Latency{}, histograms: map[results.Timing]*hdrhistogram.Histogram{}}
}

// Second takes the exact counts and maxima.
func (r *recorded) Second(s load.Second) error {
	for i := range s.Intervals {
		for _, t := range results.Timings {
			r.latency[t] = r.latency[t].Merge(*s.Intervals[i].Latency(t, results.OK))
		}
	}
	return nil
}

// Total takes the histograms.
func (r *recorded) Total(t load.Total) error {
	if t.Series.Outcome == results.OK {
		h := results.NewHistogram()
		h.Merge(t.Histogram)
		r.histograms[t.Series.Timing] = h
	}
	return nil
}

// quantile is what the engine recorded, as a report would print it.
func (r *recorded) quantile(t results.Timing, q float64) int64 {
	if r.latency[t].Count == 0 {
		return 0
	}
	return r.latency[t].Quantile(r.histograms[t], q)
}

// apply runs one step of a load of numbered requests.
func apply(ctx context.Context, spec load.Spec, step load.Step, clients []database.Client) (*recorded, *load.Recorder, error) {
	spec.Operation, spec.KeySize = database.OpWrite, 8
	sink := newRecorded()
	rec := load.NewRecorder(sink, spec.Operations(), nil)
	if _, err := load.NewEngine(spec, rec).Step(ctx, step, clients); err != nil {
		return nil, nil, fmt.Errorf("apply the load: %w", err)
	}
	return sink, rec, nil
}
