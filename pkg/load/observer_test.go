package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/workload"
)

// observing is an observer that keeps everything and checks the moments it is given.
type observing struct {
	*memory
	ended   []Ended
	before  int64
	deliver func() // called with each delivery, if it is set
	wrong   error
}

func (o *observing) Observe(ended []Ended, before int64) error {
	if o.deliver != nil {
		o.deliver()
	}
	if before < o.before && o.wrong == nil {
		o.wrong = fmt.Errorf("the moment fell by %d ns", o.before-before)
	}
	for _, e := range ended {
		if e.Sent < o.before && o.wrong == nil {
			o.wrong = fmt.Errorf("request %d was sent %d ns before a moment that was given earlier", e.Number, o.before-e.Sent)
		}
	}
	o.ended, o.before = append(o.ended, ended...), before
	return nil
}

// observe runs a step while another goroutine asks for delivery of the ended requests, every
// hundredth time a client has read the clock.
func observe(t *testing.T, spec Spec, s Step, conns []database.Client) (*observing, *Recorder, StepResult) {
	t.Helper()
	sink := &observing{memory: newMemory()}
	rec := NewRecorder(sink, spec.Operations(), nil)
	var sends atomic.Int64
	asked := make(chan struct{}, 1)
	rec.history.descheduled = func() {
		if sends.Add(1)%100 == 0 {
			select {
			case asked <- struct{}{}:
			default: // already asked
			}
		}
	}
	var delivers sync.WaitGroup
	delivers.Go(func() {
		for range asked {
			rec.flusher.observe()
		}
	})
	res, err := NewEngine(spec, rec).Step(t.Context(), s, conns)
	close(asked)
	delivers.Wait()
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	if sink.wrong != nil {
		t.Error(sink.wrong)
	}
	if end := res.End.UnixNano(); sink.before < end-1 {
		t.Errorf("all requests have ended, so the last moment must not be %d ns before the step's end", end-sink.before)
	}
	return sink, rec, res
}

// mixed returns a load with all operations that read or write one key.
func mixed() Spec {
	return Spec{Seed: 5, Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: 200},
		Sizing:   workload.Sizing{KeySize: 24, ValueSize: 40},
		Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Minute},
		Content: workload.Content{Mix: []workload.Share{
			{Operation: workload.OpRead, Weight: 40}, {Operation: workload.OpUpdate, Weight: 30}, {Operation: workload.OpWrite, Weight: 10},
			{Operation: workload.OpSwap, Weight: 10}, {Operation: workload.OpDelete, Weight: 10},
		}},
	}}
}

// checkEnded compares the requests that an observer saw with the load: each request of the part
// once, with its operation and its key, and outcomes that sum to the totals.
func checkEnded(t *testing.T, spec Spec, sink *observing, rec *Recorder, clients, conns int) {
	t.Helper()
	work, err := spec.sequence(clients)
	if err != nil {
		t.Fatalf("make a sequence: %v", err)
	}
	totals, seen := rec.Totals(), map[int64]bool{}
	var outcomes [3]int64
	for _, e := range sink.ended {
		if seen[e.Number] {
			t.Fatalf("request %d was seen twice", e.Number)
		}
		seen[e.Number] = true
		outcomes[e.Outcome]++
		req := work.Request(e.Number)
		if e.Key != req.Key || int(e.Op) != req.Op || e.Sent > e.End || e.Expected != -1 || e.Version != -1 {
			t.Fatalf("request %d has operation %d and key %d, got %+v", e.Number, req.Op, req.Key, e)
		}
		if int(e.Client) >= clients || int(e.Connection) != int(e.Client)%conns {
			t.Fatalf("client %d of %d on connection %d of %d", e.Client, clients, e.Connection, conns)
		}
		checkRead(t, work, e)
	}
	if outcomes != [3]int64{totals.OK, totals.Failed, totals.Unknown} || int64(len(seen)) != totals.Sent {
		t.Errorf("%d requests with the outcomes %v were seen, want those of %+v", len(seen), outcomes, totals)
	}
}

// checkRead checks the number a request read: one that wrote the same key.
func checkRead(t *testing.T, work *requests.Sequence, e Ended) {
	t.Helper()
	op := work.Operation(requests.Request{Op: int(e.Op)})
	reads := op == workload.OpRead || op == workload.OpSwap
	if e.Outcome == workload.OK && e.ReadKnown != reads || e.ReadKnown && !reads {
		t.Fatalf("%s: want a number that was read only of requests that read, got %+v", op, e)
	}
	if e.Missing && (e.Outcome != workload.Failed || e.ReadKnown) {
		t.Fatalf("%s: a missing key is a failure without a number, got %+v", op, e)
	}
	if !e.ReadKnown {
		return
	}
	wrote, key := work.Request(e.Read), e.Read+200
	if e.Read >= 0 {
		key = wrote.Key
	}
	if key != e.Key || e.Read >= 0 && !work.Sends(wrote) {
		t.Fatalf("request %d read from key %d what request %d wrote, whose key is %d", e.Number, e.Key, e.Read, key)
	}
}

// unsure is a store that fails some writes and loses some answers.
type unsure struct {
	*store
	calls *atomic.Int64
}

func (u unsure) Put(ctx context.Context, key, value []byte) error {
	switch u.calls.Add(1) % 50 {
	case 0:
		return database.NotApplied(database.ClassThrottled, errors.New("busy"))
	case 1:
		return errors.Join(u.store.Put(ctx, key, value), database.MaybeApplied(database.ClassOther, errors.New("no answer")))
	}
	return u.store.Put(ctx, key, value)
}

func TestObserverSeesEveryRequest(t *testing.T) {
	for name, c := range map[string]struct {
		step workload.Step
		part schedule.Part
	}{
		"closed loop": {step: workload.Step{Clients: 20, Requests: 20_000}},
		"rate":        {step: workload.Step{Clients: 20, Requests: 2_000, Rate: 20_000}},
		"part":        {step: workload.Step{Clients: 20, Requests: 20_000}, part: schedule.Part{Index: 1, Of: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			shared := &store{m: map[string][]byte{}}
			spec := mixed()
			if err := Preload(t.Context(), spec, 10, []database.Client{shared}, nil); err != nil {
				t.Fatalf("preload the keys: %v", err)
			}
			spec.Part = c.part
			if !c.part.Whole() {
				spec.Mix = spec.Mix[:2] // a part does not know which keys others create and delete
			}
			conns := make([]database.Client, 4)
			for i := range conns {
				conns[i] = unsure{shared, &atomic.Int64{}}
			}
			sink, rec, _ := observe(t, spec, Step{Step: c.step}, conns)
			if got, want := rec.Totals().Sent, spec.Part.Count(c.step.Requests); got != want || rec.Totals().Unknown == 0 {
				t.Fatalf("totals are %+v, want %d sent, some of them with an unknown outcome", rec.Totals(), want)
			}
			if c.part.Whole() {
				checkEnded(t, spec, sink, rec, 20, 4)
				return
			}
			for _, e := range sink.ended {
				if e.Number%2 != 1 || e.Client%2 != 1 || e.Client >= 20 || e.Connection != e.Client%8 {
					t.Fatalf("the second of two parts has the odd numbers, clients and connections, got %+v", e)
				}
			}
		})
	}
}

func TestObserverSeesFibers(t *testing.T) {
	shared := &store{m: map[string][]byte{}}
	spec := mixed()
	spec.Mix = spec.Mix[:4]
	if err := Preload(t.Context(), spec, 10, []database.Client{shared}, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	conns := make([]database.Client, 4)
	for i := range conns {
		conns[i] = fiberStore{newFiberClient(func(int64) (error, bool) { return nil, false }), shared}
	}
	sink, rec, _ := observe(t, spec, Step{Step: workload.Step{Clients: 50, Requests: 20_000}}, conns)
	checkEnded(t, spec, sink, rec, 50, 4)
	for _, c := range conns {
		_ = c.Close()
	}
}

// A transaction is seen once for each key, with the versions that it named and made.
func TestObserverSeesTransactions(t *testing.T) {
	on := newVersioned()
	spec := guardedSpec(workload.OpTxn)
	spec.TxnKeys, spec.Keys = 3, 100
	if err := Preload(t.Context(), spec, 10, []database.Client{on}, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	sink, _, _ := observe(t, spec, Step{Step: workload.Step{Clients: 10, Requests: 2000}}, []database.Client{on})
	work, err := spec.sequence(10)
	if err != nil {
		t.Fatalf("make a sequence: %v", err)
	}
	type made struct{ key, version int64 }
	parts, named := map[int64]int{}, map[made]int64{}
	for _, e := range sink.ended {
		want := work.Request(e.Number)
		if n := parts[e.Number]; n > 0 {
			want = work.Neighbor(want, n)
		}
		parts[e.Number]++
		if e.Key != want.Key {
			t.Fatalf("request %d writes key %d, got %+v", e.Number, want.Key, e)
		}
		if e.Outcome != workload.OK {
			if e.Version != -1 {
				t.Fatalf("a transaction that was not ok made no known version, got %+v", e)
			}
			continue
		}
		if e.Expected < 0 || e.Version <= e.Expected {
			t.Fatalf("a transaction that was ok makes a later version than it named, got %+v", e)
		}
		if by, again := named[made{e.Key, e.Expected}]; again {
			t.Fatalf("requests %d and %d replaced version %d of key %d", by, e.Number, e.Expected, e.Key)
		}
		named[made{e.Key, e.Expected}] = e.Number
	}
	if len(parts) != 2000 || len(sink.ended) != 6000 {
		t.Errorf("%d transactions were seen %d times, want 2000 for each of 3 keys", len(parts), len(sink.ended))
	}
}

// Clients wait while the observer is behind: at most the requests in the pages and one for each
// client are held. No request is lost.
func TestClientsWaitForTheObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, total, most = 10, 100_000, 8
		spec := writes()
		held := make(chan struct{})
		sink := &observing{memory: newMemory(), deliver: func() { <-held }}
		rec := NewRecorder(sink, spec.Operations(), nil)
		rec.history.pool.most = most
		var calls atomic.Int64
		var res StepResult
		var engine sync.WaitGroup
		engine.Go(func() {
			var err error
			if res, err = NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: clients, Requests: total}}, []database.Client{script(func(context.Context, []byte, []byte) error {
				calls.Add(1)
				return nil
			})}); err != nil {
				t.Errorf("run the step: %v", err)
			}
		})
		time.Sleep(10 * time.Second) // bubble time: until nothing moves
		if got, most := calls.Load(), int64(most*pageSize+clients); got < pageSize || got > most {
			t.Errorf("%d requests were sent while the observer takes none, want at most %d", got, most)
		}
		close(held)
		engine.Wait()
		if len(sink.ended) != total || sink.wrong != nil {
			t.Errorf("%d requests were seen (%v), want %d", len(sink.ended), sink.wrong, total)
		}
		if w := res.ObserverWaits; w.Count < clients || time.Duration(w.NS) < 9*time.Second {
			t.Errorf("the clients' waits are %+v, want at least one of each for nearly 10 s", w)
		}
	})
}

// TestMomentsHoldForClientsOfTheEngine: clients are descheduled for seconds after they have read
// the clock, while requests by other clients are delivered.
func TestMomentsHoldForClientsOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 2000
		spec := writes()
		spec.Timeout = time.Minute
		sink := &observing{memory: newMemory()}
		rec := NewRecorder(sink, spec.Operations(), nil)
		var sends atomic.Int64
		rec.history.descheduled = func() {
			if sends.Add(1)%100 == 0 {
				time.Sleep(3 * time.Second) // of the bubble
			}
		}
		_, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 5, Requests: total}}, []database.Client{script(func(context.Context, []byte, []byte) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		})})
		if err != nil || sink.wrong != nil || len(sink.ended) != total {
			t.Errorf("%d of %d requests were delivered: %v, %v", len(sink.ended), total, sink.wrong, err)
		}
	})
}

// deferred is a client that may be descheduled after each step in a request.
type deferred struct {
	flight flight
	shard  *shard
	sent   int64 // the time it read
	at     int   // request steps made so far
}

// step makes one step of a request as engine clients do.
func (d *deferred) step(h *history) (ended bool) {
	switch d.at {
	case 0:
		d.flight.word.Store(flightSending)
	case 1:
		d.sent = h.clock.Now()
	case 2:
		d.flight.word.Store(packFlight(d.sent, measure, 0, 0))
	case 3:
		now := h.clock.Now()
		d.shard.record(&d.flight, &done{due: d.sent, sent: d.sent, end: now, phase: measure, observed: []Ended{{Sent: h.unix + d.sent, End: h.unix + now}}})
	}
	d.at = (d.at + 1) % 4
	return d.at == 0
}

// deschedule makes six clients follow a list of moves: -2 lets a millisecond pass, -1 delivers,
// and any other number is the client that makes its next step.
func deschedule(moves []int) error {
	sink := &observing{memory: newMemory()}
	spec := writes()
	rec := NewRecorder(sink, spec.Operations(), nil)
	clients, flights := make([]*deferred, 6), make([]*flight, 6)
	for n := range clients {
		clients[n] = &deferred{shard: rec.shards.of(n)}
		flights[n] = &clients[n].flight
	}
	st := &plan{Step: Step{Step: workload.Step{Clients: len(clients)}}, spec: spec, start: rec.clock.Now()}
	st.phases()
	rec.issueEnd.open()
	rec.shards.begin(rec.clock.Second(st.start)-1, st, st.grid(rec.issueEnd), flights)
	ended := 0
	for _, move := range moves {
		switch {
		case move == -2:
			time.Sleep(time.Millisecond) // of the bubble
		case move >= 0:
			if clients[move].step(rec.history) {
				ended++
			}
		default:
			rec.history.deliver(func(error) {})
			now := rec.clock.Time(rec.clock.Now()).UnixNano()
			idle := !slices.ContainsFunc(clients, func(d *deferred) bool { return d.at > 0 })
			switch {
			case sink.wrong != nil || len(sink.ended) != ended:
				return fmt.Errorf("%d of %d requests were delivered: %w", len(sink.ended), ended, sink.wrong)
			case idle && sink.before != now:
				return fmt.Errorf("all clients are idle, and the moment is %d ns ago", now-sink.before)
			}
		}
	}
	return nil
}

// TestMomentsHoldForDescheduledClients: whenever requests are delivered, and whatever state
// clients are in, no later delivery has a request sent before the given moment. While all clients
// are idle, the moment is the present.
func TestMomentsHoldForDescheduledClients(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		moves := append(rapid.SliceOfN(rapid.IntRange(-2, 5), 1, 200).Draw(rt, "moves"), -1)
		var err error
		synctest.Test(t, func(*testing.T) { err = deschedule(moves) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}
