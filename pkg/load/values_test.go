package load

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// preloaded writes the keys before a load, runs one step in a closed loop, and returns the values
// and the records.
func preloaded(t *testing.T, spec Spec, requests int64, client database.Client) (*memory, *Recorder) {
	t.Helper()
	conns := []database.Client{client}
	if err := Preload(t.Context(), spec, 10, conns, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	sink := newMemory()
	rec := NewRecorder(sink, spec.Operations(), nil)
	if _, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 10, Requests: requests}}, conns); err != nil {
		t.Fatalf("run the step: %v", err)
	}
	return sink, rec
}

// TestNoWriteRepeatsAValue: neither the load nor the preload writes a value to a key that
// already has it.
func TestNoWriteRepeatsAValue(t *testing.T) {
	for name, spec := range map[string]Spec{
		"sequential": {Load: workload.Load{Keyspace: workload.Keyspace{Keys: 1000, KeyLaw: workload.KeysSequential}}},
		"uniform":    {Load: workload.Load{Keyspace: workload.Keyspace{Keys: 100, KeyLaw: workload.KeysUniform}}},
		"same key":   {Load: workload.Load{Keyspace: workload.Keyspace{SameKey: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Seed, spec.Operation, spec.KeySize, spec.ValueSize, spec.Timeout = 3, workload.OpUpdate, 8, 32, time.Second
			var mu sync.Mutex
			writes, repeated := map[string]bool{}, 0
			preloaded(t, spec, 3000, script(func(_ context.Context, key, value []byte) error {
				mu.Lock()
				defer mu.Unlock()
				pair := fmt.Sprintf("%s=%x", key, value)
				if writes[pair] {
					repeated++
				}
				writes[pair] = true
				return nil
			}))
			if want := 3000 + max(int(spec.Keys), 1); repeated > 0 || len(writes) != want {
				t.Errorf("%d of %d writes repeated a value", repeated, want)
			}
		})
	}
}

// altered is a store whose reads are made wrong by a function.
type altered struct {
	*store
	value func(key, value []byte) []byte
	found func(keys int, size int64) (int, int64)
}

func (a altered) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	value, err := a.store.Get(ctx, key, mode)
	if err == nil && a.value != nil {
		value = a.value(key, append([]byte(nil), value...))
	}
	return value, err
}

func (a altered) Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	keys, size, err = a.store.Range(ctx, key, limit, mode)
	if a.found != nil {
		keys, size = a.found(keys, size)
	}
	return keys, size, err
}

// List has no values except in pages, which the store returns as one.
func (a altered) List(ctx context.Context, how workload.RangeMode, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	if !how.Bounded() {
		limit = math.MaxInt
	}
	keys, size, err = a.store.Range(ctx, key, limit, mode)
	if !how.Values() {
		size = 0
	}
	if a.found != nil {
		keys, size = a.found(keys, size)
	}
	return keys, size, err
}

// TestContentIsCheckedOfEveryRead: every read of a value with a flipped bit fails, in each
// operation that reads values, with and without a checksum.
func TestContentIsCheckedOfEveryRead(t *testing.T) {
	const requests, keys = 5000, 10
	for _, op := range []workload.Op{workload.OpRead, workload.OpReadOneshot, workload.OpSwap} {
		for _, size := range []int{8, 15, 16, 32, 1024} {
			t.Run(fmt.Sprintf("%s of %d bytes", op, size), func(t *testing.T) {
				spec := Spec{Seed: 1, Load: workload.Load{Content: workload.Content{Operation: op}, Keyspace: workload.Keyspace{Keys: keys, KeyLaw: workload.KeysSequential}, Sizing: workload.Sizing{KeySize: 8, ValueSize: size}, Limits: workload.Limits{Timeout: time.Second}}}
				client := altered{store: &store{m: map[string][]byte{}}, value: func(key, value []byte) []byte {
					if key[len(key)-1]%2 == 1 { // half the keys
						value[size-4] ^= 1
					}
					return value
				}}
				conns := []database.Client{client}
				if err := Preload(t.Context(), spec, 1, conns, nil); err != nil {
					t.Fatalf("preload the keys: %v", err)
				}
				rec := NewRecorder(newMemory(), spec.Operations(), nil)
				step := Step{Step: workload.Step{Clients: 1, Requests: requests}, Dial: func(context.Context) (database.Client, error) { return client, nil }}
				if _, err := NewEngine(spec, rec).Step(t.Context(), step, conns); err != nil {
					t.Fatalf("run the step: %v", err)
				}
				if got := rec.Totals(); got.Failed != requests/2 || got.OK != requests/2 {
					t.Errorf("%d ok and %d failed of %d reads, want half of them failed", got.OK, got.Failed, requests)
				}
			})
		}
	}
}

// TestRangesAndSwapsAreChecked: the values that they read have the right size, and are
// counted.
func TestRangesAndSwapsAreChecked(t *testing.T) {
	slowtest.Skip(t)
	short := func(_, value []byte) []byte { return value[:len(value)-1] }
	const keys, limit, size, requests = 100, 10, 64, 1000
	inRange := int64(requests*limit - requests/keys*(limit*(limit-1)/2)) // fewer for the last keys
	for _, c := range []struct {
		name   string
		op     workload.Op
		client altered
		spec   func(*Spec)
		ok     int64
		bytes  int64 // -1 for any
	}{
		{name: "ranges", op: workload.OpRange, ok: requests, bytes: inRange * size},
		{name: "ranges of sizes", op: workload.OpRange, spec: func(s *Spec) { s.ValueSizeMax = 2 * size }, ok: requests, bytes: -1},
		{name: "ranges of nothing", op: workload.OpRange, client: altered{found: func(int, int64) (int, int64) { return 0, 0 }}},
		{name: "ranges of too little", op: workload.OpRange, client: altered{found: func(n int, s int64) (int, int64) { return n, s - 1 }}},
		{name: "ranges of one key less", op: workload.OpRange, client: altered{found: func(n int, s int64) (int, int64) { return n - 1, s - size }}},
		{name: "ranges over the limit", op: workload.OpRange, client: altered{found: func(int, int64) (int, int64) { return limit + 1, (limit + 1) * size }}},
		{name: "ranges without values", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode = workload.RangeKeys }, ok: requests, bytes: 0},
		{name: "ranges without values that have some", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode = workload.RangeKeys }, client: altered{found: func(n int, _ int64) (int, int64) { return n, 1 }}},
		{name: "counts", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode, s.RangeLimit = workload.RangeCount, 0 }, ok: requests, bytes: 0},
		{name: "counts of more", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode = workload.RangeCount }, client: altered{found: func(n int, _ int64) (int, int64) { return n + 1, 0 }}, ok: requests, bytes: 0},
		{name: "counts of one key less", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode = workload.RangeCount }, client: altered{found: func(n int, _ int64) (int, int64) { return n - 1, 0 }}},
		{name: "pages", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode = workload.RangePages }, ok: requests, bytes: -1},
		{name: "pages of one key less", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode = workload.RangePages }, client: altered{found: func(n int, s int64) (int, int64) { return n - 1, s - size }}},
		{name: "streams", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode, s.RangeLimit = workload.RangeStream, 0 }, ok: requests, bytes: -1},
		{name: "streams of one key less", op: workload.OpRange, spec: func(s *Spec) { s.RangeMode, s.RangeLimit = workload.RangeStream, 0 }, client: altered{found: func(n int, s int64) (int, int64) { return n - 1, s - size }}},
		{name: "ranges after an earlier load", op: workload.OpRange, spec: func(s *Spec) { s.FirstKey = 1000 }, client: altered{found: func(n int, s int64) (int, int64) { return n, s + 7 }}, ok: requests, bytes: -1},
		{name: "ranges of one key", op: workload.OpRange, spec: func(s *Spec) { s.Keys, s.SameKey = 0, true }, ok: requests, bytes: requests * size},
		{name: "ranges of no key", op: workload.OpRange, spec: func(s *Spec) { s.Keys, s.SameKey = 0, true }, client: altered{found: func(int, int64) (int, int64) { return 0, 0 }}},
		{name: "swaps", op: workload.OpSwap, ok: requests, bytes: requests * size},
		{name: "swaps of too little", op: workload.OpSwap, client: altered{value: short}},
		{name: "reads of too little", op: workload.OpRead, client: altered{value: short}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := Spec{
				Seed: 1, Load: workload.Load{Content: workload.Content{Operation: c.op}, Keyspace: workload.Keyspace{Keys: keys, KeyLaw: workload.KeysSequential}, Sizing: workload.Sizing{KeySize: 8, ValueSize: size, RangeLimit: limit}, Limits: workload.Limits{Timeout: time.Second}},
			}
			if c.spec != nil {
				c.spec(&spec)
			}
			c.client.store = &store{m: map[string][]byte{}}
			conns := []database.Client{c.client}
			if err := Preload(t.Context(), spec, 1, conns, nil); err != nil {
				t.Fatalf("preload the keys: %v", err)
			}
			before := fmt.Sprint(c.client.m)
			sink := newMemory()
			rec := NewRecorder(sink, spec.Operations(), nil)
			if _, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 1, Requests: requests}}, conns); err != nil {
				t.Fatalf("run the step: %v", err)
			}
			got := rec.Totals()
			if got.OK != c.ok || got.Failed != requests-c.ok {
				t.Errorf("%+v, want %d of %d ok", got, c.ok, requests)
			}
			if c.bytes >= 0 && got.BytesRead != c.bytes {
				t.Errorf("%d bytes were read, want %d", got.BytesRead, c.bytes)
			}
			for _, e := range sink.errors {
				if e.Class != string(database.ClassWrongValue) {
					t.Errorf("class %q: %s", e.Class, e.FirstText)
				}
			}
			if c.ok == 0 && fmt.Sprint(c.client.m) != before {
				t.Error("a request that failed surely was applied")
			}
		})
	}
}
