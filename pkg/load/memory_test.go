package load

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestSecondsLeaveLittleGarbage: a second with failures, written to files, leaves little garbage.
// Otherwise the heap would grow with the load duration, because the rest of a load hardly ever
// causes a collection.
func TestSecondsLeaveLittleGarbage(t *testing.T) {
	const seconds, atMost = 10, 8 << 10
	files, err := NewFiles(t.TempDir(), time.Now())
	if err != nil {
		t.Fatalf("records: %v", err)
	}
	defer files.Close()
	spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}}}
	rec := NewRecorder(files, spec.Operations(), nil)
	st, flights := steady(t, rec, spec, 1000)
	refused := errors.New("refused")
	second := func() {
		sec := rec.flusher.flushed + 1
		at := rec.clock.SecondStart(sec)
		for i := range 10_000 {
			d := done{due: at, sent: at + int64(i%1000)*1000, end: at + int64(i)*100_000, phase: measure}
			if i%100 == 0 {
				d.outcome, d.class, d.err = workload.Failed, database.ClassOther, refused
				rec.fails.record(&d)
			}
			rec.shards.of(i).record(flights[i%len(flights)], &d)
		}
		rec.flusher.flush(sec)
	}
	rec.allocate(&st.plan)
	for range 4 { // the first failures take the memory they need
		second()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range seconds {
		second()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / seconds; n > atMost {
		t.Errorf("a second leaves %d bytes of garbage, want at most %d", n, atMost)
	}
}

// TestRequestsLeaveNoGarbage: the engine allocates nothing for a request: only the database client
// may.
func TestRequestsLeaveNoGarbage(t *testing.T) {
	const requests = 10_000
	spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16}, Limits: workload.Limits{Timeout: time.Minute}}}
	e := NewEngine(spec, NewRecorder(discard{}, spec.Operations(), nil))
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := e.Step(t.Context(), Step{Step: workload.Step{Clients: 1, Requests: requests}}, []database.Client{null{}}); err != nil {
			t.Fatalf("run the step: %v", err)
		}
	})
	if allocs > requests/4 { // a step itself needs a few hundred
		t.Errorf("a step of %d requests makes %v allocations, want none for each", requests, allocs)
	}
}

// appending is a store that reads into buffers.
type appending struct {
	*store
	largest int // bytes for which a buffer had room; the store lock guards it
}

func (a *appending) AppendGet(ctx context.Context, to, key []byte, mode workload.ReadMode) ([]byte, error) {
	value, err := a.Get(ctx, key, mode)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.largest = max(a.largest, cap(to))
	return append(to, value...), err
}

// TestReadsIntoBuffers: clients read values of all sizes right, and keep no buffer for the largest.
func TestReadsIntoBuffers(t *testing.T) {
	const requests = 5000
	spec := Spec{Seed: 5, Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: 50, KeyLaw: workload.KeysUniform},
		Sizing:   workload.Sizing{KeySize: 16, ValueSize: 16, ValueSizeMax: 2 * mostAnswer},
		Limits:   workload.Limits{Timeout: time.Minute},
		Content:  workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 50}}},
	}}
	client := &appending{store: &store{m: map[string][]byte{}}}
	_, rec := preloaded(t, spec, requests, client)
	if totals := rec.Totals(); totals.OK != requests {
		t.Errorf("%d of %d requests ended ok: %+v", totals.OK, requests, totals)
	}
	if client.largest == 0 || client.largest > mostAnswer {
		t.Errorf("the largest buffer that a client passed has %d bytes, want 1 to %d", client.largest, mostAnswer)
	}
}

// TestReadsLeaveNoGarbage: a read needs no memory if the database client reads into buffers.
func TestReadsLeaveNoGarbage(t *testing.T) {
	const requests = 10_000
	spec := Spec{Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: 100, KeyLaw: workload.KeysUniform}, Sizing: workload.Sizing{KeySize: 16, ValueSize: 64},
		Content: workload.Content{Operation: workload.OpRead}, Limits: workload.Limits{Timeout: time.Minute},
	}}
	client := &appending{store: &store{m: map[string][]byte{}}}
	conns := []database.Client{client}
	if err := Preload(t.Context(), spec, 10, conns, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	e := NewEngine(spec, NewRecorder(discard{}, spec.Operations(), nil))
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := e.Step(t.Context(), Step{Step: workload.Step{Clients: 10, Requests: requests}}, conns); err != nil {
			t.Fatalf("run the step: %v", err)
		}
	})
	if allocs > requests/4 { // a step itself needs a few hundred
		t.Errorf("a step of %d reads makes %v allocations, want none for each", requests, allocs)
	}
}

// TestStepAllocatesAtItsStart: a step makes every histogram needed by ok requests before its
// first request.
func TestStepAllocatesAtItsStart(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		spec := Spec{Load: workload.Load{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpWrite, Weight: 1}}}, Limits: workload.Limits{WarmUp: time.Second, CoolDown: time.Second}}}
		rec := NewRecorder(discard{}, spec.Operations(), nil)
		st := &plan{spec: spec, Step: Step{Step: workload.Step{Rate: rate, Duration: 10 * time.Second}}}
		st.phases()
		rec.allocate(st)
		for _, s := range rec.shards.all {
			for _, slot := range append(s.slots[:], rec.shards.spare, rec.flusher.merged) {
				for n := range slot {
					if slot[n].latency[service].histogram == nil || (slot[n].latency[response].histogram == nil) != (rate == 0) {
						t.Fatalf("rate %v: tally %d has the histograms %v, want service, and response with a rate", rate, n, slot[n].latency)
					}
				}
			}
		}
	}
}

func TestPhasesOfAStep(t *testing.T) {
	for _, c := range []struct {
		spec     Spec
		duration time.Duration
		want     [numPhases]bool
	}{
		{Spec{}, 0, [numPhases]bool{false, true, false}},
		{Spec{}, time.Minute, [numPhases]bool{false, true, false}},
		{Spec{Load: workload.Load{Limits: workload.Limits{WarmUp: time.Second}}}, 0, [numPhases]bool{true, true, false}},
		{Spec{Load: workload.Load{Limits: workload.Limits{CoolDown: time.Second}}}, 0, [numPhases]bool{false, true, false}},
		{Spec{Load: workload.Load{Limits: workload.Limits{WarmUp: time.Second, CoolDown: time.Second}}}, time.Minute, [numPhases]bool{true, true, true}},
	} {
		s := &plan{spec: c.spec, Step: Step{Step: workload.Step{Duration: c.duration}}}
		s.phases()
		if got := [numPhases]bool{s.has(warmUp), s.has(measure), s.has(coolDown)}; got != c.want {
			t.Errorf("warm-up %v and cool-down %v of %v: phases %v, want %v", c.spec.WarmUp, c.spec.CoolDown, c.duration, got, c.want)
		}
	}
}
