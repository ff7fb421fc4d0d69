package load

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// fragile is a client that panics in one of its calls.
type fragile struct {
	calls   *atomic.Int64
	panicAt int64
}

func (c fragile) Put(context.Context, []byte, []byte) error {
	time.Sleep(time.Millisecond)
	if c.calls.Add(1) == c.panicAt {
		panic("a client's own mistake")
	}
	return nil
}

func (c fragile) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) { return nil, nil }

func (c fragile) Close() error { return nil }

// TestPanicEndsStep: a client that panics ends the step with an error that names where.
// The others' requests complete, and every request is counted.
func TestPanicEndsStep(t *testing.T) {
	for name, step := range map[string]workload.Step{
		"closed loop": {Clients: 4, Duration: time.Minute},
		"with a rate": {Clients: 4, Duration: time.Minute, Rate: 1000},
	} {
		synctest.Test(t, func(t *testing.T) {
			spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 8}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Second}}}
			rec := NewRecorder(&firstError{}, spec.Operations(), nil)
			client := fragile{&atomic.Int64{}, 50}
			begun := time.Now()
			_, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: step}, []database.Client{client, client})
			const want = "the database's client panicked in github.com/coreos/dbtester/pkg/load.fragile.Put, line "
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "a client's own mistake") {
				t.Errorf("%s: error %v, want %q and why", name, err, want)
			}
			if totals := rec.Totals(); !totals.Reconcile() || totals.Unknown != 1 || totals.OK < 46 || totals.OK > 60 {
				t.Errorf("%s: %+v, want one unknown outcome, and those of about 50 requests", name, totals)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("%s: the step took %v, want that it ends at once", name, took)
			}
		})
	}
}
