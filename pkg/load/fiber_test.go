package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// fiberClient is a connection whose one goroutine answers fibers' requests in order and continues
// them.
type fiberClient struct {
	answer   func(number int64) (err error, silent bool)
	requests chan *fiberCall
	asks     chan chan struct{} // calls without a fiber
	closed   chan struct{}
	served   atomic.Int64
	runs     sync.WaitGroup
}

type fiberCall struct {
	fiber *fiber.Fiber
	err   error

	mu   sync.Mutex
	over bool
}

func newFiberClient(answer func(number int64) (err error, silent bool)) *fiberClient {
	c := &fiberClient{answer: answer, requests: make(chan *fiberCall, 1000), asks: make(chan chan struct{}), closed: make(chan struct{})}
	c.runs.Go(c.serve)
	return c
}

func (c *fiberClient) Continues() bool { return true }

func (c *fiberClient) serve() {
	for {
		select {
		case k := <-c.requests:
			if err, silent := c.answer(c.served.Add(1)); !silent && k.end(err) {
				k.fiber.Continue()
			}
		case answered := <-c.asks:
			close(answered)
		case <-c.closed:
			return
		}
	}
}

// end reports whether the call was not over.
func (k *fiberCall) end(err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return false
	}
	k.over, k.err = true, err
	return true
}

func (k *fiberCall) Interrupt() {
	if k.end(database.MaybeApplied(database.ClassTimeout, context.DeadlineExceeded)) {
		go k.fiber.Continue()
	}
}

func (c *fiberClient) Put(ctx context.Context, _, _ []byte) error {
	f, left := fiber.Of(ctx)
	if f == nil {
		return errors.New("a client of a closed loop has no fiber")
	}
	if deadline, bounded := ctx.Deadline(); bounded != (left > 0) || bounded && left < time.Until(deadline) {
		return fmt.Errorf("the deadline is in %v, before the %v that are left", time.Until(deadline), left)
	}
	k := &fiberCall{fiber: f}
	c.requests <- k
	k.fiber.WaitsFor(ctx, k)
	defer k.fiber.Waited()
	k.fiber.Wait()
	return k.err
}

func (c *fiberClient) Get(ctx context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	return nil, c.Put(ctx, key, nil)
}

// Close waits for the answering goroutine, as database clients do: a goroutine that waits for a
// fiber would never be closed.
func (c *fiberClient) Close() error {
	close(c.closed)
	c.runs.Wait()
	return nil
}

// runFibers runs a step on connections and closes them.
func runFibers(t *testing.T, spec Spec, s Step, conns []database.Client) (*memory, *Recorder) {
	t.Helper()
	sink := newMemory()
	rec := NewRecorder(sink, spec.Operations(), nil)
	_, err := NewEngine(spec, rec).Step(t.Context(), s, conns)
	if err != nil {
		t.Errorf("run the step: %v", err)
	}
	got, want := sink.sums(), rec.Totals()
	got.BytesRead = want.BytesRead // rows have no bytes read
	if !cmp.Equal(got, want) || !want.Reconcile() {
		t.Errorf("rows must sum to totals that reconcile: %s", cmp.Diff(want, got))
	}
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
	return sink, rec
}

// patient returns the load with limits that no request reaches on a busy machine.
func patient(spec Spec) Spec {
	spec.Timeout, spec.Drain = time.Minute, time.Minute
	return spec
}

func TestFibersCountEveryRequest(t *testing.T) {
	conns := make([]database.Client, 4)
	for i := range conns {
		conns[i] = newFiberClient(func(int64) (error, bool) { return nil, false })
	}
	_, rec := runFibers(t, patient(writes()), Step{Step: workload.Step{Clients: 50, Requests: 20_000}}, conns)
	want := results.Totals{Offered: 20_000, Sent: 20_000, OK: 20_000, BytesWritten: 20_000 * 48}
	if got := rec.Totals(); got != want {
		t.Errorf("totals are %+v, want %+v", got, want)
	}
}

// Requests without an answer end by their deadline, and their clients continue. Time is fake, so that
// no other request reaches its deadline on a busy machine.
func TestFibersTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := writes()
		spec.Timeout = 20 * time.Millisecond
		c := newFiberClient(func(n int64) (error, bool) { return nil, n%50 == 0 })
		sink, rec := runFibers(t, spec, Step{Step: workload.Step{Clients: 10, Requests: 1000}}, []database.Client{c})
		if got := rec.Totals(); got.OK != 980 || got.Unknown != 20 {
			t.Errorf("totals are %+v, want 980 ok and 20 unknown", got)
		}
		for _, e := range sink.errors {
			if e.Class != string(database.ClassTimeout) {
				t.Errorf("an error has class %q, want a time-out", e.Class)
			}
		}
	})
}

// Clients whose connection is lost wait for the next one without holding the goroutine that reported
// the loss.
func TestFibersLoseConnections(t *testing.T) {
	lose := func(n int64) (error, bool) {
		if n > 100 {
			return errReset, false
		}
		return nil, false
	}
	reconnect := &Reconnect{Members: []int{0}, Dial: func(context.Context, int) (database.Client, error) { return newFiberClient(lose), nil }}
	conns := []database.Client{newFiberClient(lose), newFiberClient(lose)}
	_, rec := runFibers(t, writes(), Step{Step: workload.Step{Clients: 20, Requests: 1000}, Reconnect: reconnect}, conns)
	if got := rec.Totals(); got.Unknown == 0 || got.OK < 200 || got.OK+got.Unknown != 1000 {
		t.Errorf("totals are %+v, want 1,000 requests, some of them lost", got)
	}
}

// fiberStore waits for an answer with every applied request.
type fiberStore struct {
	*fiberClient
	store *store
}

func (s fiberStore) Put(ctx context.Context, key, value []byte) error {
	return errors.Join(s.store.Put(ctx, key, value), s.fiberClient.Put(ctx, nil, nil))
}

func (s fiberStore) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	value, err := s.store.Get(ctx, key, mode)
	return value, errors.Join(err, s.fiberClient.Put(ctx, nil, nil))
}

func (s fiberStore) Swap(ctx context.Context, key, old, value []byte) error {
	return errors.Join(s.store.Swap(ctx, key, old, value), s.fiberClient.Put(ctx, nil, nil))
}

// Fibers send and read the right bytes, though they share memory for keys and values.
func TestFibersShareMemory(t *testing.T) {
	shared := &store{m: map[string][]byte{}}
	conns := make([]database.Client, 4)
	for i := range conns {
		conns[i] = fiberStore{newFiberClient(func(int64) (error, bool) { return nil, false }), shared}
	}
	spec := Spec{Seed: 5, Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: 500},
		Sizing:   workload.Sizing{KeySize: 24, ValueSize: 40, ValueSizeMax: 2000},
		Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Second},
		Content:  workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 30}, {Operation: workload.OpUpdate, Weight: 30}, {Operation: workload.OpWrite, Weight: 30}, {Operation: workload.OpSwap, Weight: 10}}},
	}}
	if err := Preload(t.Context(), spec, 10, []database.Client{shared}, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	sink, rec := runFibers(t, spec, Step{Step: workload.Step{Clients: 50, Requests: 20_000}}, conns)
	for _, e := range sink.errors {
		if e.Class != string(database.ClassConflict) {
			t.Errorf("%d x %s: %s", e.Count, e.Class, e.FirstText)
		}
	}
	if got := rec.Totals(); got.OK < 18_000 {
		t.Errorf("totals are %+v, want 20,000 requests that are ok but for conflicts of swaps", got)
	}
	if len(shared.m) != 6_500 {
		t.Errorf("the store has %d keys, want the 500 that were there and 6,000", len(shared.m))
	}
}

// fiberVersioned waits for an answer with every applied request.
type fiberVersioned struct {
	*fiberClient
	on *versioned
}

func (v fiberVersioned) Txn(ctx context.Context, puts []database.GuardedPut) error {
	if err := v.fiberClient.Put(ctx, nil, nil); err != nil {
		return err
	}
	return v.on.Txn(ctx, puts)
}

func (v fiberVersioned) Version(ctx context.Context, key []byte) (int64, error) {
	fiber.Leave(ctx)
	answered := make(chan struct{})
	select {
	case v.asks <- answered:
		<-answered
		return v.on.Version(ctx, key)
	case <-ctx.Done():
		return 0, database.NotApplied(database.ClassTimeout, ctx.Err())
	}
}

// A version read before a transaction does not wait for the goroutine that it would block.
func TestFibersReadVersions(t *testing.T) {
	const lose = 20
	on := newVersioned()
	on.lose = lose
	spec := patient(guardedSpec(workload.OpTxn))
	spec.Keys = 200
	if err := Preload(t.Context(), spec, 10, []database.Client{on}, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	c := fiberVersioned{newFiberClient(func(int64) (error, bool) { return nil, false }), on}
	sink, rec := runFibers(t, spec, Step{Step: workload.Step{Clients: 20, Requests: 5000}}, []database.Client{c})
	if got, want := rec.Totals().Unknown, int64(on.txns/lose); got != want {
		t.Errorf("%d transactions have an unknown outcome, want %d", got, want)
	}
	for _, e := range sink.errors {
		if e.Class != string(database.ClassConflict) && !strings.HasSuffix(e.Message, "no answer") {
			t.Errorf("%d x %s: %s", e.Count, e.Class, e.Message)
		}
	}
}

// Fibers with values too large to share keep memory for them.
func TestFibersKeepLargeValues(t *testing.T) {
	c := newFiberClient(func(int64) (error, bool) { return nil, false })
	spec := writes()
	spec.ValueSize = fiber.MostBorrowed
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runFibers(t, spec, Step{Step: workload.Step{Clients: 4, Requests: 1000}}, []database.Client{c})
	runtime.ReadMemStats(&after)
	if got, most := (after.TotalAlloc-before.TotalAlloc)/1000, uint64(fiber.MostBorrowed/4); got > most {
		t.Errorf("%d bytes are allocated for each request, want at most %d", got, most)
	}
}
