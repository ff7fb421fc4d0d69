package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Callers keep a progress to show it, so it must not hold the functions of its step, which hold the
// load.
func TestProgressHoldsNoLoad(t *testing.T) {
	t.Parallel()
	var shown Progress
	m := NewMeter([]workload.Op{workload.OpWrite}, func(p Progress) { shown = p })
	step := Step{
		Index: 3, Step: workload.Step{Clients: 7},
		Dial:      func(context.Context) (database.Client, error) { return nil, nil },
		Reconnect: &Reconnect{},
	}
	m.Report(step, time.Second, time.Second, results.Totals{OK: 5}, Second{})
	if shown.Step.Dial != nil || shown.Step.Reconnect != nil || shown.Step.Index != 3 || shown.Step.Clients != 7 || shown.Done != 5 {
		t.Errorf("progress %+v, want step 3 with 7 clients and without functions, and 5 requests", shown)
	}
}

// Progress for a second has its ticks, which count from where the step starts.
func TestProgressOfTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16}, Limits: workload.Limits{Timeout: time.Minute, Drain: time.Minute}}}
		var starts []time.Time
		ok := int64(0)
		rec := newRecorder(clock.New(), discard{}, spec.Operations(), func(p Progress) {
			starts = append(starts, p.Step.Start)
			for _, row := range p.Ticks {
				ok += row.OK
			}
		})
		res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 2, Rate: 100, Duration: 3 * time.Second}}, []database.Client{prompt{}})
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range starts {
			if !start.Equal(res.Start) {
				t.Errorf("the step began at %v, want %v", start, res.Start)
			}
		}
		if len(starts) < 3 || ok != rec.Totals().OK || ok == 0 {
			t.Errorf("%d seconds with ticks of %d requests, want at least 3 with %d", len(starts), ok, rec.Totals().OK)
		}
	})
}
