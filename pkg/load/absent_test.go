package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// TestAbsentIsASet compares with a map.
func TestAbsentIsASet(t *testing.T) {
	const keys = 200
	rng := rand.New(rand.NewPCG(1, 2))
	a := &absent{reach: keys}
	set := map[int64]bool{}
	for range 20_000 {
		if key := rng.Int64N(keys); rng.IntN(2) == 0 {
			a.add(key)
			set[key] = true
		} else {
			a.remove(key)
			delete(set, key)
		}
		key := rng.Int64N(keys)
		want := key
		for set[want] {
			want--
		}
		if got := a.before(key); got != want {
			t.Fatalf("the key before %d is %d, want %d of %v", key, got, want, a.gaps)
		}
	}
	for n := 1; n < len(a.gaps); n++ {
		if a.gaps[n-1].to >= a.gaps[n].from || a.gaps[n].from >= a.gaps[n].to {
			t.Fatalf("gaps %v", a.gaps)
		}
	}
}

// TestAbsentForgets: a database that fails every other write does not fill the
// memory.
func TestAbsentForgets(t *testing.T) {
	a := &absent{reach: 1000}
	for key := range int64(100_000) {
		if key%2 == 0 {
			a.add(key)
		}
	}
	if len(a.gaps) > 1002 || a.before(99_998) != 99_997 {
		t.Errorf("%d gaps, before the last key %d", len(a.gaps), a.before(99_998))
	}
}

// faulty is a store that refuses some writes of new keys, and is slow.
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

func (f faulty) Get(ctx context.Context, key []byte, mode database.ReadMode) ([]byte, error) {
	time.Sleep(time.Millisecond)
	return f.store.Get(ctx, key, mode)
}

func latest() Spec {
	return Spec{
		Seed: 5, Keys: 300, Law: KeysLatest, KeySize: 16, ValueSize: 32, Timeout: time.Minute, Drain: 10 * time.Millisecond,
		Mix: []Share{{database.OpRead, 0.9}, {database.OpWrite, 0.1}},
	}
}

// TestLatestReadsNoKeyThatIsNotThere: whether its write failed, is still under
// way, was not sent in time or belongs to an earlier step, no read finds nothing.
func TestLatestReadsNoKeyThatIsNotThere(t *testing.T) {
	var n atomic.Int64
	for _, c := range []struct {
		name  string
		steps []Step
		fault func() error
	}{
		{"refused", []Step{{Clients: 10, Requests: 20_000}}, func() error {
			if n.Add(1)%3 > 0 {
				return database.NotApplied(database.ClassThrottled, errors.New("busy"))
			}
			return nil
		}},
		{"slow", []Step{{Clients: 50, Requests: 20_000}}, func() error {
			if n.Add(1)%100 == 0 {
				time.Sleep(10 * time.Second)
			}
			return nil
		}},
		{"unsent", []Step{{Clients: 10, Requests: 20_000, Rate: 20_000}, {Index: 1, Clients: 10, Requests: 20_000}}, nil},
		{"interrupted steps", []Step{
			{Clients: 200, Duration: 100 * time.Millisecond}, {Index: 1, Clients: 200, Duration: 100 * time.Millisecond},
			{Index: 2, Clients: 200, Duration: 500 * time.Millisecond, Rate: 10_000}, {Index: 3, Clients: 200, Requests: 20_000},
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := faulty{store: &store{m: map[string][]byte{}}}
				if err := Preload(t.Context(), latest(), 1, []database.Client{client}, nil); err != nil {
					t.Fatal(err)
				}
				client.fault = c.fault
				sink := newMemory()
				e := NewEngine(latest(), NewRecorder(sink, latest().Operations(), nil))
				for _, s := range c.steps {
					if _, err := e.Step(t.Context(), s, []database.Client{client}); err != nil {
						t.Fatal(err)
					}
				}
				for _, e := range sink.errors {
					if e.Class == string(database.ClassNotFound) {
						t.Errorf("step %d: %d x %s %s", e.Step, e.Count, e.Operation, e.Class)
					}
				}
				created := e.last.keyOf(e.next-1, 0, 0)
				if got := e.rec.Totals(); got.OK < 8_000 || created < 1000 {
					t.Errorf("%+v, and the last request reads key %d", got, created)
				}
			})
		})
	}
}

func TestLatestDoesNotShed(t *testing.T) {
	spec := latest()
	spec.Shed = true
	if _, err := newWorkload(spec, 1); err == nil {
		t.Error("writes of keys that are read may be shed")
	}
	spec.Mix[1].Operation = database.OpUpdate
	if _, err := newWorkload(spec, 1); err != nil {
		t.Errorf("nothing creates keys: %v", err)
	}
}
