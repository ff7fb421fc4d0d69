package issue

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// forgetful is a sink that keeps nothing.
type forgetful struct{ load.MemberSink }

func (forgetful) Second(load.Second) error { return nil }

// TestCounterRestart: the counts contain no request from steps that are left out, and the progress
// continues.
func TestCounterRestart(t *testing.T) {
	var last load.Progress
	c := newCounter(forgetful{}, []workload.Op{workload.OpWrite}, func(p load.Progress) { last = p })
	start := time.Now().Add(-time.Second)
	second := func(ok, failed int64) {
		c.begin(load.Step{Step: workload.Step{Clients: 1}}, start)
		if err := c.Second(load.Second{Intervals: []results.Interval{{Operation: string(workload.OpWrite), OK: ok, Failed: failed}}}); err != nil {
			t.Fatalf("count a second: %v", err)
		}
	}
	second(10, 2)
	c.restart()
	second(5, 1)
	if last.Done != 18 || last.Errors != 3 || !last.Step.Start.Equal(start) {
		t.Errorf("progress of %d requests with %d errors in a step from %v, want 18 with 3 from %v", last.Done, last.Errors, last.Step.Start, start)
	}
	if got := c.end(); got.Totals.OK != 5 || got.Totals.Failed != 1 || got.Surely != 15 {
		t.Errorf("%+v, want 5 ok, 1 failed and 15 keys", got)
	}
}
