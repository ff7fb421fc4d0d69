package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// faulty is a slow store whose writes may fail.
type faulty struct {
	*store
	fault func() error
}

func (f faulty) Put(ctx context.Context, key, value []byte) error {
	if f.fault != nil {
		if err := f.fault(); err != nil {
			return err
		}
	}
	return f.store.Put(ctx, key, value)
}

func (f faulty) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	time.Sleep(time.Millisecond)
	return f.store.Get(ctx, key, mode)
}

func latest() Spec {
	return Spec{
		Seed: 5, Load: workload.Load{Keyspace: workload.Keyspace{Keys: 300, KeyLaw: workload.KeysLatest}, Sizing: workload.Sizing{KeySize: 16, ValueSize: 32}, Limits: workload.Limits{Timeout: time.Minute, Drain: 10 * time.Millisecond},
			Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 0.9}, {Operation: workload.OpWrite, Weight: 0.1}}}},
	}
}

// TestLatestReadsNoMissingKey: no read takes a key whose write failed, is in flight, was
// not sent in time or was interrupted in an earlier step.
func TestLatestReadsNoMissingKey(t *testing.T) {
	var n atomic.Int64
	for _, c := range []struct {
		name  string
		steps []Step
		fault func() error
	}{
		{"refused", []Step{{Step: workload.Step{Clients: 10, Requests: 20_000}}}, func() error {
			if n.Add(1)%3 > 0 {
				return database.NotApplied(database.ClassThrottled, errors.New("busy"))
			}
			return nil
		}},
		{"slow", []Step{{Step: workload.Step{Clients: 50, Requests: 20_000}}}, func() error {
			if n.Add(1)%100 == 0 {
				time.Sleep(10 * time.Second)
			}
			return nil
		}},
		{"unsent", []Step{{Step: workload.Step{Clients: 10, Requests: 20_000, Rate: 20_000}}, {Index: 1, Step: workload.Step{Clients: 10, Requests: 20_000}}}, nil},
		{"interrupted steps", []Step{
			{Step: workload.Step{Clients: 200, Duration: 100 * time.Millisecond}}, {Index: 1, Step: workload.Step{Clients: 200, Duration: 100 * time.Millisecond}},
			{Index: 2, Step: workload.Step{Clients: 200, Duration: 500 * time.Millisecond, Rate: 10_000}}, {Index: 3, Step: workload.Step{Clients: 200, Requests: 20_000}},
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := faulty{store: &store{m: map[string][]byte{}}}
				if err := Preload(t.Context(), latest(), 1, []database.Client{client}, nil); err != nil {
					t.Fatalf("preload the keys: %v", err)
				}
				client.fault = c.fault
				sink := newMemory()
				e := NewEngine(latest(), NewRecorder(sink, latest().Operations(), nil))
				for _, s := range c.steps {
					if _, err := e.Step(t.Context(), s, []database.Client{client}); err != nil {
						t.Fatalf("run the step: %v", err)
					}
				}
				for _, e := range sink.errors {
					if e.Class == string(database.ClassNotFound) {
						t.Errorf("step %d: %d times %s ended with %s, want none", e.Step, e.Count, e.Operation, e.Class)
					}
				}
				created := e.last.Request(e.next - 1).Key
				if got := e.rec.Totals(); got.OK < 8_000 || created < 1000 {
					t.Errorf("counts %+v, and the last request reads key %d, want at least 8000 ok and key 1000", got, created)
				}
			})
		})
	}
}
