package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/backoff"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// worker is one client: it takes requests from the step's schedule and applies
// them one at a time.
type worker struct {
	step   *step
	conn   *connection
	link   *link // nil while there is none
	served bool  // link has served this client
	// client, hinted and located are link's; hinted is nil without the ability or the knowledge.
	client database.Client
	hinted database.HintedPutter
	// located is nil if the client does not know its member, which is link's then.
	located located
	// refused: no member accepted a connection for a single request, and
	// single is the back-off of such connections.
	refused bool
	single  backoff.Pauses
	shard   *shard
	flight  flight
	member  int            // that the last request went to
	hand    *schedule.Hand // nil if requests are not bound to clients
	ctx     atomic.Pointer[callContext]
	timer   *time.Timer // nil until the client first waits for a time
	ramp    int64       // after the step's start, when this client begins
	key     []byte      // of the request; see prepare
	value   []byte
	kept    keyValue // memory, nil until needed, also to check values in
	payload int64    // bytes of all keys and values that the request writes
	first   int64    // when this client first sent a request; 0 before
	got     reply    // of the last call
	clock   clock.Clock
	stops   *stops.Stops
	ran     int64        // when this client last read the clock, as the stops and a call's deadline need it
	trip    int64        // when the round trip in flight began
	stopped int64        // by how much stops delayed the call in flight
	whole   []byte       // buffer for the value that a swap should have read
	guarded *guarded     // nil in a load without transactions
	seen    *observed    // nil without an observer
	fiber   *fiber.Fiber // nil if the client runs on a goroutine of its own
	room    int          // see sharedRoom; 0 without a fiber
}

// reply is a call's result until it is checked.
type reply struct {
	read  bool // the reply must be checked
	value []byte
	by    requests.Writer // of the value
	keys  int             // of a range
	bytes int64           // of all values
}

func newWorker(s *step, n, conn int) *worker {
	w := &worker{
		step: s, conn: s.conns[conn], shard: s.rec.shards.of(n), clock: s.rec.clock, stops: s.rec.stops,
	}
	if s.Ramp > 0 {
		w.ramp = int64(s.Ramp) * s.spec.Part.Number(int64(n)) / int64(s.Clients)
	}
	if s.dealer != nil {
		w.hand = s.dealer.Hand(n)
	}
	w.ctx.Store(newCallContext(w))
	w.guarded, w.seen = newGuarded(s), newObserved(s, n, conn)
	return w
}

// run is the client's loop. With a fiber, others' goroutines may run it between two requests,
// until one fails: whatever may wait leaves them first.
func (w *worker) run(f *fiber.Fiber) {
	w.fiber = f
	if f != nil {
		w.room = sharedRoom(&w.step.spec.Load)
	}
	defer func() { w.ctx.Load().end() }()
	defer w.detach()
	if begin := w.step.start + w.ramp; w.step.Rate == 0 {
		if w.wait(begin); w.clock.Now() < begin { // issuing ended before
			return
		}
		w.timer = nil // a closed loop needs none, unless its server is lost
	}
	for w.one() {
	}
}

// one takes a request and applies it; false means that there are no more.
func (w *worker) one() bool {
	s := w.step
	if w.seen != nil {
		w.seen.await(w)
	}
	if w.refused {
		w.rest()
	}
	// A client without a server takes no request. At the end of a rate it takes those
	// that are left, to give them up.
	if !w.connected() && !w.await(false) && !s.rated() {
		return false
	}
	if !s.rated() {
		return w.closed()
	}
	i, due, ok := w.next()
	if !ok {
		s.exhaust()
		return false
	}
	return w.open(i, s.start+due)
}

// next takes the next request of a rate: any, or this client's own.
func (w *worker) next() (i, due int64, ok bool) {
	if w.hand != nil {
		return w.hand.Next()
	}
	return w.step.schedule.Next()
}

// closed applies a request of a closed loop, which is due when it is sent. Every
// request that the schedule hands out is sent. When it has no more, issuing ends;
// requests that other clients took before are still sent.
func (w *worker) closed() bool {
	s := w.step
	// Reading the clock is a good part of the engine's own cost.
	if s.stop.planned() && s.stop.over(w.now()) {
		return false
	}
	i, _, ok := s.schedule.Next()
	if !ok {
		s.exhaust()
		return false
	}
	w.apply(i, 0, 0)
	return true
}

// open applies a request of a rate when it is due, or as soon after as this client
// is free. If requests are bound to clients, all that the client has not taken are due
// later than this one.
func (w *worker) open(i, due int64) bool {
	s := w.step
	before := w.stops.Number()
	now := w.now()
	var flags int64
	if now < due {
		w.stops.Free(before)
		w.wait(due)
		if now = w.now(); now-due > lateAfter {
			flags = flightLate
			w.stops.Woke(due, now)
		}
	} else {
		flags = flightQueued
	}
	if due >= s.stop.at() { // issuing ended before it was due: it was never offered
		s.work.Skip(s.number(i))
		return false
	}
	if !w.connected() {
		flags = flightQueued // no server, so this client is not free
		if s.spec.Backlog != workload.BacklogShed {
			w.await(true)
			now = w.now()
		}
	}
	switch {
	case flags == flightQueued && now >= s.drained():
		s.work.Skip(s.number(i))
		op := s.work.Op(s.number(i))
		w.shard.unsent(now, s.phase(due-s.start), op, 1)
		w.giveUp(now)
		return true
	case s.spec.Backlog == workload.BacklogShed && flags == flightQueued && (now-due > lateAfter || !w.connected()):
		op := s.work.Op(s.number(i))
		w.shard.shed(now, s.phase(due-s.start), op)
		return true
	}
	if flags == flightQueued && now-due > lateAfter && w.stops.Share(now-due) == now-due {
		flags = flightLate // it queued only because the client was stopped
	}
	w.apply(i, due, flags)
	return true
}

// apply sends request i and records its outcome.
func (w *worker) apply(i, due, flags int64) {
	s := w.step
	req := w.prepare(s.number(i))
	read := int64(0) // how long it took to read what the request must know
	if w.guarded != nil {
		if read = w.guard(req); read > 0 && flags == 0 {
			flags = flightQueued
		}
	}
	s.work.Sending(req)
	call := w.ctx.Load()
	var sent int64
	if w.seen == nil {
		sent = w.now()
	} else {
		sent = w.seen.sends(w)
	}
	if w.first == 0 {
		w.first = sent
	}
	if s.Rate == 0 {
		due = sent
	}
	late := sent - due - read
	if flags&flightQueued != 0 {
		late = w.stops.Share(late)
	}
	phase := s.phase(due - s.start)
	w.flight.word.Store(packFlight(sent, phase, req.Op, flags))
	if w.member = w.link.member; w.located != nil {
		w.member = w.located.Member()
	}
	w.trip, w.stopped = sent, 0
	err := w.attempt(call, req)
	d := done{member: w.member, due: due, sent: sent, end: w.returned(), phase: phase, op: req.Op, err: err, late: late}
	d.stopped = w.stopped
	if w.got.read && err == nil {
		d.read, d.err = w.got.bytes, w.check(req)
	}
	if d.err != nil {
		d.read = 0
		w.classify(&d)
		w.fiber.Leave()
	} else {
		d.written = w.payload
	}
	if w.seen != nil {
		d.observed = w.seen.see(w, req, &d)
	}
	if w.got.read {
		w.got = reply{}
	}
	if w.shard.record(&w.flight, &d)&flightExpired != 0 {
		w.ctx.Store(newCallContext(w))
	}
	if d.outcome == workload.OK {
		s.work.Written(req)
	} else {
		s.rec.fails.record(&d)
	}
	w.watchConnection(&d, req)
	if w.guarded != nil {
		w.guarded.refresh(w)
	}
}

// guard prepares a transaction, and returns how long it took to read the versions of its
// keys that were not known.
func (w *worker) guard(req requests.Request) int64 {
	op := w.step.work.Operation(req)
	if !op.Guarded() {
		return 0
	}
	w.payload += w.guarded.prepare(req, w.key, w.value)
	return w.guarded.expect(w, op)
}

// watchConnection has the client's connection replaced after a request that found no server. A
// request with a connection of its own does not concern it.
func (w *worker) watchConnection(d *done, req requests.Request) {
	switch {
	case w.step.work.Operation(req) == workload.OpReadOneshot:
	case d.severed():
		w.conn.lose(w.link, d.err)
	case d.outcome == workload.OK && !w.served:
		w.served = true
		w.conn.serves(w.link)
	}
}

// call applies the operation. It leaves the reply in w.got, to be checked after the
// clock was read.
func (w *worker) call(ctx context.Context, req requests.Request) error {
	op := w.step.work.Operation(req)
	if op == workload.OpWrite || op == workload.OpUpdate {
		return w.put(ctx, op)
	}
	return w.callOther(ctx, op, req)
}

// callOther applies an operation that is no plain write. Its frame would be on the stacks of all
// clients that write.
func (w *worker) callOther(ctx context.Context, op workload.Op, req requests.Request) (err error) {
	spec := &w.step.spec
	switch op {
	case workload.OpRead:
		value, err := w.client.Get(ctx, w.key, spec.Read)
		return w.keep(value, err)
	case workload.OpReadOneshot:
		value, err := w.oneshot(ctx)
		return w.keep(value, err)
	case workload.OpDelete:
		return w.client.(database.Deleter).Delete(ctx, w.key)
	case workload.OpRange:
		w.got.keys, w.got.bytes, err = w.client.(database.Ranger).Range(ctx, w.key, spec.RangeLimit, spec.Read)
		w.got.read = err == nil
		return err
	case workload.OpSwap:
		return w.swap(ctx, req)
	case workload.OpTxn, workload.OpCreate:
		return w.guarded.send(ctx, w.client)
	default:
		return database.NotApplied(database.ClassOther, fmt.Errorf("unknown operation %q", op))
	}
}

// keep stores the value of one key in w.got.
func (w *worker) keep(value []byte, err error) error {
	if err == nil {
		w.got = reply{read: true, value: value, bytes: int64(len(value))}
	}
	return err
}

// swap reads a value, checks it and replaces it. A wrong value is never replaced.
func (w *worker) swap(ctx context.Context, req requests.Request) error {
	old, err := w.client.Get(ctx, w.key, w.step.spec.Read)
	w.returned()
	if err := w.keep(old, err); err != nil {
		return err
	}
	if w.whole, w.got.by, err = w.step.work.Check(w.whole, old, req); err != nil {
		return err
	}
	return w.client.(database.Swapper).Swap(ctx, w.key, old, w.value)
}

// check returns an error if the reply is wrong.
func (w *worker) check(req requests.Request) (err error) {
	work := w.step.work
	switch work.Operation(req) {
	case workload.OpRange:
		err = work.CheckRange(req, w.got.keys, w.got.bytes)
	case workload.OpRead, workload.OpReadOneshot:
		w.kept.value, w.got.by, err = work.Check(w.kept.value, w.got.value, req)
	}
	return err
}

// oneshot opens a connection, reads over it and closes it.
func (w *worker) oneshot(ctx context.Context) ([]byte, error) {
	client, err := w.step.Dial(ctx)
	w.returned()
	w.member = unknownMember
	if w.refused = err != nil; err != nil {
		return nil, database.NotApplied(database.ClassUnavailable, err)
	}
	w.single.Reset()
	w.member = memberOf(client, unknownMember)
	value, err := client.Get(ctx, w.key, w.step.spec.Read)
	return value, errors.Join(err, client.Close())
}

// classify sets the outcome, and whether a failure is an answer. A call that the deadline watcher canceled is a
// time-out, whatever error the client returned.
func (w *worker) classify(d *done) {
	d.outcome, d.class = database.Classify(d.err)
	if w.flight.word.Load()&flightExpired != 0 && d.outcome != workload.OK {
		d.class = database.ClassTimeout
	}
	s := w.step
	d.declined = d.outcome == workload.Failed && database.Declined(s.rec.accounts.ops[d.op], d.class, s.deletes)
}

// giveUp counts the requests that no client has taken by the end of the drain, all of
// one phase at once: a database that answers one request in a thousand leaves more of
// them than clients could take one by one. Those that wait for the client to which they are
// bound are taken one by one, by that client.
func (w *worker) giveUp(now int64) {
	s := w.step
	l, ok := s.schedule.(schedule.Leaver)
	if !ok {
		return
	}
	until := min(s.stop.at(), s.rec.issueEnd.at()) - s.start
	counts := make([]int64, len(s.rec.accounts.ops))
	for phase := range numPhases {
		end := until
		if phase < coolDown {
			end = min(until, s.phaseEnd[phase])
		}
		from, to := l.Leave(end)
		if from >= to {
			continue
		}
		if s.others == 0 { // reads of created keys are not in parts
			s.work.SkipAll(s.first+from, s.first+to)
		}
		clear(counts)
		s.count(from, to, counts)
		for op, n := range counts {
			w.shard.unsent(now, phase, op, n)
		}
	}
}

// put writes the request's key, with the hint whether the key is new.
func (w *worker) put(ctx context.Context, op workload.Op) error {
	switch {
	case w.hinted == nil:
		return w.client.Put(ctx, w.key, w.value)
	case op.Creates():
		return w.hinted.PutNew(ctx, w.key, w.value)
	}
	return w.hinted.PutExisting(ctx, w.key, w.value)
}
