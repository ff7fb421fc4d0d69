package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/contenders"
	"github.com/coreos/dbtester/pkg/workload"
)

// fragile is a client that panics in one call.
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

// TestPanicEndsStep: a client that panics ends the step with an error that names where. The
// requests of others complete, and every request is counted.
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

// older is a client for a server without ranges as streams.
type older struct{ *store }

func (older) Range(context.Context, []byte, int, workload.ReadMode) (int, int64, error) {
	return 0, 0, nil
}

func (older) List(context.Context, workload.RangeMode, []byte, int, workload.ReadMode) (int, int64, error) {
	return 0, 0, database.NotApplied(database.ClassOther, fmt.Errorf("%w: a later release is needed", database.ErrNoRangeMode))
}

// TestMissingRangeModeEndsStep: a server without the range mode of the load ends the step at the
// first answer, and the error names the remedy.
func TestMissingRangeModeEndsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpRange}, Keyspace: workload.Keyspace{Keys: 10}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 8, RangeMode: workload.RangeStream}, Limits: workload.Limits{Timeout: time.Second}}}
		rec := NewRecorder(&firstError{}, spec.Operations(), nil)
		conns := []database.Client{older{&store{m: map[string][]byte{}}}}
		_, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 1, Duration: time.Minute, Rate: 100}}, conns)
		if !errors.Is(err, database.ErrNoRangeMode) || !strings.Contains(err.Error(), "a later release is needed") {
			t.Errorf("got %v, want that the server lacks the mode and what is needed", err)
		}
		if totals := rec.Totals(); !totals.Reconcile() || totals.OK != 0 || totals.Failed == 0 || totals.Failed > 2 {
			t.Errorf("%+v, want the one request that the server did not know", totals)
		}
	})
}

// fragileLocks are locks whose holders panic when they give one up.
type fragileLocks struct{ database.Locks }

func (fragileLocks) Contender(context.Context) (database.Contender, error) {
	return fragileHolder{}, nil
}

type fragileHolder struct{ database.Contender }

func (fragileHolder) Acquire(context.Context, []byte, func()) (database.Held, error) {
	time.Sleep(time.Millisecond)
	return database.Held{At: time.Now(), Fence: 1}, nil
}

func (fragileHolder) Release(context.Context) error { panic("a release's own mistake") }

func (fragileHolder) Close(context.Context) error { return nil }

// The request for a lock is over before the lock is given up, and a panic then ends the step as well.
func TestPanicOfReleaseEndsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpLock}, Sizing: workload.Sizing{KeySize: 8}, Keyspace: workload.Keyspace{Keys: 1}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Second}}}
		rec := NewRecorder(&firstError{}, spec.Operations(), nil)
		pool := contenders.New(workload.Locks{Recipe: "direct", TTL: 9 * time.Second}, database.LockFacts{
			Recipes: []database.LockRecipe{{Name: "direct", Fence: "a number"}},
			Session: database.SessionFacts{Least: time.Second, Step: time.Second, Ends: func(ttl time.Duration, _ int) (soonest, latest time.Duration) { return ttl, ttl }},
			Renews:  func(ttl time.Duration) time.Duration { return ttl / 3 },
		})
		pool.Begin(rec.Clock(), rec.LongStops)
		pool.Over([]database.Locks{fragileLocks{}})
		engine := NewEngine(spec, rec)
		engine.TakeContenders(pool)
		client := fragile{calls: &atomic.Int64{}}
		_, err := engine.Step(t.Context(), Step{Step: workload.Step{Clients: 1, Requests: 5}}, []database.Client{client})
		const want = "the database's client panicked in github.com/coreos/dbtester/pkg/load.fragileHolder.Release, line "
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "a release's own mistake") {
			t.Errorf("error %v, want %q and why", err, want)
		}
		if totals := rec.Totals(); !totals.Reconcile() || totals.OK < 1 || totals.OK > 2 || totals.OK != totals.Offered {
			t.Errorf("%+v, want the lock that was acquired, and at most one more", totals)
		}
	})
}
