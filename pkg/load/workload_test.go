package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// store is a map with the optional operations.
type store struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *store) Put(_ context.Context, key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[string(key)] = append([]byte(nil), value...)
	return nil
}

func (s *store) Get(_ context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.m[string(key)]; ok {
		return v, nil
	}
	return nil, database.ErrNotFound
}

func (s *store) Swap(_ context.Context, key, old, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(s.m[string(key)]) != string(old) {
		return database.NotApplied(database.ClassConflict, errors.New("changed"))
	}
	s.m[string(key)] = append([]byte(nil), value...)
	return nil
}

func (s *store) Delete(_ context.Context, key []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, string(key))
	return nil
}

func (s *store) Range(_ context.Context, key []byte, limit int, _ workload.ReadMode) (keys int, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(s.m)) {
		if k >= string(key) && keys < limit {
			keys, size = keys+1, size+int64(len(s.m[k]))
		}
	}
	return keys, size, nil
}

func (s *store) Close() error { return nil }

func TestMixedLoadReadsWhatItWrote(t *testing.T) {
	for _, law := range workload.KeyLaws() {
		t.Run(string(law), func(t *testing.T) {
			s := &store{m: map[string][]byte{}}
			spec := Spec{
				Seed: 5, Load: workload.Load{Keyspace: workload.Keyspace{Keys: 500, KeyLaw: law}, Sizing: workload.Sizing{KeySize: 24, ValueSize: 40, ValueSizeMax: 90}, Limits: workload.Limits{Timeout: time.Minute},
					Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 20}, {Operation: workload.OpWrite, Weight: 10}, {Operation: workload.OpSwap, Weight: 19}, {Operation: workload.OpReadOneshot, Weight: 1}}}},
			}
			conns := []database.Client{s}
			if err := Preload(t.Context(), spec, 10, conns, nil); err != nil {
				t.Fatalf("preload the keys: %v", err)
			}
			sink := newMemory()
			rec := NewRecorder(sink, spec.Operations(), nil)
			_, err := NewEngine(spec, rec).Step(t.Context(), Step{
				Step: workload.Step{Clients: 20, Requests: 20_000},
				Dial: func(context.Context) (database.Client, error) { return s, nil },
			}, conns)
			if err != nil {
				t.Fatalf("make the engine: %v", err)
			}
			by := map[string]int64{}
			for _, r := range sink.rows {
				by[r.Operation] += r.OK + r.Failed
			}
			want := map[string]int64{"read": 10_000, "update": 4_000, "write": 2_000, "swap": 3_800, "read-oneshot": 200}
			if fmt.Sprint(by) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", by, want)
			}
			for _, e := range sink.errors {
				// A goroutine may be held up for longer than ten blocks on this store take.
				held := law == workload.KeysLatest && e.Class == string(database.ClassNotFound) && e.Count < 50
				if e.Class != string(database.ClassConflict) && !held {
					t.Errorf("%d x %s: %s", e.Count, e.Class, e.FirstText)
				}
			}
			if got := rec.Totals().BytesRead; got < 12_000*40 || got > 14_000*90 {
				t.Errorf("%d bytes read by 14000 reads and swaps of 40 to 90 bytes", got)
			}
			if len(s.m) != 2_500 || sink.rows[len(sink.rows)-1].KeysCumulative != 2_000 {
				t.Errorf("%d keys in the store, want 2500", len(s.m))
			}
		})
	}
}

// TestSameSeedSameOperations: a request depends only on the seed and its number, not on
// the clients.
func TestSameSeedSameOperations(t *testing.T) {
	sent := func(clients int) map[string]int {
		var mu sync.Mutex
		seen := map[string]int{}
		spec := writes()
		spec.Seed, spec.Keys, spec.KeyLaw = 9, 50, workload.KeysZipfian
		spec.Mix = []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpWrite, Weight: 1}}
		client := script(func(_ context.Context, key, value []byte) error {
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprintf("%s=%x", key, value)]++
			return nil
		})
		rec := NewRecorder(newMemory(), spec.Operations(), nil)
		if _, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: clients, Requests: 3000}}, []database.Client{client}); err != nil {
			t.Fatalf("run the step: %v", err)
		}
		return seen
	}
	if a, b := sent(1), sent(37); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Error("1 and 37 clients sent different operations")
	}
}

func TestRampOfRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, rec, _, err := run(t, t.Context(), writes(), Step{Step: workload.Step{Clients: 50, Rate: 100, RateEnd: 1000, Duration: 10 * time.Second}},
			func(context.Context, []byte, []byte) error { time.Sleep(time.Millisecond); return nil })
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		if got := rec.Totals(); got.Offered != 5500 || got.OK != 5500 {
			t.Errorf("%+v, want 5500 requests under the ramp", got)
		}
		var due []int64
		for _, r := range sink.rows[1:10] {
			due = append(due, r.Due)
		}
		for n := 1; n < len(due); n++ {
			if d := due[n] - due[n-1]; d < 88 || d > 92 {
				t.Errorf("due by second %v, want 90 more in each", due)
				break
			}
		}
	})
}

func TestRampOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, _, _, err := run(t, t.Context(), writes(), Step{Step: workload.Step{Clients: 10, Ramp: 5 * time.Second, Duration: 10 * time.Second}},
			func(context.Context, []byte, []byte) error { time.Sleep(100 * time.Millisecond); return nil })
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		first, late := sink.rows[1].Sent, sink.rows[7].Sent
		if first > 45 || late < 95 {
			t.Errorf("second 1 sent %d, second 7 sent %d, want about 30 and 100", first, late)
		}
	})
}

// TestMergedRecordersEqualOne: merged histograms from N recorders equal those from the union, bit
// for bit.
func TestMergedRecordersEqualOne(t *testing.T) {
	union := histogram.New()
	parts := []*summary{{}, {}, {}}
	var merged summary
	for i := range int64(10_000) {
		ns := int64(requests.Mix64(uint64(i)) % 5e9)
		union.RecordValue(ns)
		parts[i%3].add(ns)
	}
	for _, p := range parts {
		merged.merge(p)
	}
	if !merged.histogram.Equals(union) {
		t.Error("the merged histogram differs")
	}
}

// TestAbilities: a load is refused before its first request if a connection cannot apply
// all its operations, or if nothing opens connections for single requests.
func TestAbilities(t *testing.T) {
	called := func(context.Context, []byte, []byte) error {
		t.Error("a request was sent")
		return nil
	}
	plain := database.Client(script(called))
	dial := func(context.Context) (database.Client, error) { return plain, nil }
	for _, c := range []struct {
		op    workload.Op
		conns []database.Client
		dial  func(context.Context) (database.Client, error)
		want  string
	}{
		{workload.OpDelete, []database.Client{plain}, nil, "connection 1 must be able to delete"},
		{workload.OpRange, []database.Client{plain}, nil, "connection 1 must be able to range"},
		{workload.OpSwap, []database.Client{plain}, nil, "connection 1 must be able to swap"},
		{workload.OpTxn, []database.Client{newVersioned(), plain}, nil, "connection 2 must be able to txn"},
		{workload.OpCreate, []database.Client{plain}, dial, "connection 1 must be able to create"},
		{workload.OpReadOneshot, []database.Client{plain}, nil, "must have Dial"},
		{workload.OpRead, []database.Client{plain, nil}, dial, "connection 2 must be open"},
	} {
		spec := writes()
		spec.Operation, spec.Keys = "", 10
		spec.Mix = []workload.Share{{Operation: workload.OpUpdate, Weight: 99}, {Operation: c.op, Weight: 1}}
		rec := NewRecorder(newMemory(), spec.Operations(), nil)
		_, err := NewEngine(spec, rec).Step(t.Context(), Step{Dial: c.dial, Step: workload.Step{Clients: 2, Requests: 10}}, c.conns)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.op, err, c.want)
		}
	}
}
