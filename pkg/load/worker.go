package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// worker is one client: it takes requests from the step's schedule and applies
// them one at a time.
type worker struct {
	step   *step
	client database.Client
	shard  *shard
	flight flight
	ctx    atomic.Pointer[callContext]
	timer  *time.Timer
	ramp   int64 // after the step's start, when this client begins
	key    []byte
	value  []byte
	got    reply  // of the last call
	whole  []byte // to compute in what a swap should have read
}

// reply is what a call read.
type reply struct {
	read  bool // there is something to check
	value []byte
	keys  int   // of a range
	bytes int64 // of all values
}

func newWorker(s *step, n int, client database.Client) *worker {
	w := &worker{
		step: s, client: client, shard: s.rec.shardOf(n),
		key:   make([]byte, 0, max(s.spec.KeySize, 20)),
		value: make([]byte, 0, max(s.spec.ValueSize, s.spec.ValueSizeMax)),
	}
	if s.Ramp > 0 {
		w.ramp = int64(s.Ramp) * int64(n) / int64(s.Clients)
	}
	w.ctx.Store(newCallContext(w))
	return w
}

// run is the client's loop.
func (w *worker) run() {
	defer func() { w.ctx.Load().cancel() }()
	w.timer = time.NewTimer(time.Hour)
	defer w.timer.Stop()
	if w.step.Rate == 0 {
		w.wait(w.step.start + w.ramp)
	}
	for w.one() {
	}
}

// one takes and ends one request; false means there is nothing more to do.
func (w *worker) one() bool {
	s := w.step
	if s.Rate == 0 {
		return w.closed()
	}
	i, due, ok := s.schedule.next()
	if !ok {
		s.work.skip(s.first + i)
		return false
	}
	return w.open(i, s.start+due)
}

// closed applies a request of a closed loop, which is due when it is sent. Every
// request that the schedule hands out is sent. When it has no more, the
// population ends; what others took before is still sent.
func (w *worker) closed() bool {
	s := w.step
	now := s.rec.now()
	if now >= s.stopAt.Load() {
		return false
	}
	i, _, ok := s.schedule.next()
	if !ok {
		s.rec.endIssuing(s.rec.now())
		return false
	}
	w.apply(i, now, now, 0)
	return true
}

// open applies a request of a rate, when it is due or as soon after as this
// client is free.
func (w *worker) open(i, due int64) bool {
	s := w.step
	now := s.rec.now()
	var flags int64
	if now < due {
		w.wait(due)
		if now = s.rec.now(); now-due > lateAfter {
			flags = flightLate
		}
	} else {
		flags = flightQueued
	}
	switch {
	case due >= s.stopsAt(): // the load ended before: it was never offered
		s.work.skip(s.first + i)
		return false
	case flags == flightQueued && now-int64(s.spec.Drain) >= s.rec.issueEnd.Load():
		s.work.skip(s.first + i)
		op, _ := s.work.op(s.first + i)
		w.shard.unsent(s.rec, now, s.phase(due-s.start), op)
		return true // and so will be all that were due
	case s.spec.Shed && flags == flightQueued && now-due > lateAfter:
		op, _ := s.work.op(s.first + i)
		w.shard.shed(s.rec, now, s.phase(due-s.start), op)
		return true
	}
	w.apply(i, due, now, flags)
	return true
}

// lateAfter is how much later than due a free client may wake before the request
// counts as late: our machine's fault, not the database's.
const lateAfter = int64(time.Millisecond)

// wait sleeps until a time of the recorder's clock, or until the step stops.
func (w *worker) wait(until int64) {
	d := until - w.step.rec.now()
	if d <= 0 {
		return
	}
	w.timer.Reset(time.Duration(d))
	w.step.alarm.add(until)
	select {
	case <-w.timer.C:
		w.step.alarm.next()
	case <-w.step.stop:
	}
}

// request is one request, worked out before it is sent.
type request struct {
	number int64 // over all steps
	op     int   // index in the workload
	key    int64 // number of the key
}

// apply sends request i and records how it ended.
func (w *worker) apply(i, due, now, flags int64) {
	s := w.step
	req := w.prepare(s.first + i)
	creates := s.work.absent != nil && req.op == s.work.creates
	if creates {
		s.work.absent.add(req.key)
	}
	call := w.ctx.Load()
	sent := s.rec.now()
	if s.Rate == 0 {
		due = sent
	}
	phase := s.phase(due - s.start)
	w.flight.word.Store(packFlight(sent, phase, req.op, flags))
	err := w.call(call, req)
	d := done{due: due, sent: sent, end: s.rec.now(), phase: phase, op: req.op, err: err}
	if w.got.read {
		if err == nil {
			d.read, d.err = w.got.bytes, w.check(req)
		}
		w.got = reply{}
	}
	if d.err != nil {
		d.read = 0
		w.classify(&d)
	}
	if w.shard.record(s.rec, &w.flight, &d)&flightExpired != 0 {
		w.ctx.Store(newCallContext(w))
	}
	switch {
	case d.outcome != database.OK:
		s.rec.fails.record(s.rec, &d)
	case creates:
		s.work.absent.remove(req.key)
	}
}

// prepare works a request out and fills the key, and the value of an operation
// that has one.
func (w *worker) prepare(number int64) request {
	work := w.step.work
	spec := &work.spec
	req := request{number: number}
	var rank int64
	req.op, rank = work.op(number)
	if spec.SameKey {
		w.key = appendSameKey(w.key[:0], spec.KeySize)
	} else {
		req.key = work.keyOf(number, req.op, rank)
		w.key = appendKey(w.key[:0], req.key, spec.KeySize)
	}
	switch work.ops[req.op] {
	case database.OpWrite, database.OpUpdate, database.OpSwap:
		w.value = work.appendValue(w.value[:0], req.key, number)
	}
	return req
}

// call applies the operation. What was read is left in w.got, to be checked when
// the clock has been read.
func (w *worker) call(ctx context.Context, req request) (err error) {
	spec := &w.step.spec
	switch op := w.step.work.ops[req.op]; op {
	case database.OpWrite, database.OpUpdate:
		return w.client.Put(ctx, w.key, w.value)
	case database.OpRead:
		value, err := w.client.Get(ctx, w.key, spec.Read)
		return w.keep(value, err)
	case database.OpReadOneshot:
		value, err := w.oneshot(ctx)
		return w.keep(value, err)
	case database.OpDelete:
		return w.client.(database.Deleter).Delete(ctx, w.key)
	case database.OpRange:
		w.got.keys, w.got.bytes, err = w.client.(database.Ranger).Range(ctx, w.key, spec.RangeLimit, spec.Read)
		w.got.read = err == nil
		return err
	case database.OpSwap:
		return w.swap(ctx, req)
	default:
		return database.NotApplied(database.ClassOther, fmt.Errorf("unknown operation %q", op))
	}
}

// keep leaves the value of one key in w.got.
func (w *worker) keep(value []byte, err error) error {
	if err == nil {
		w.got = reply{read: true, value: value, bytes: int64(len(value))}
	}
	return err
}

// swap reads a value and replaces it. It is checked in between, so that a wrong
// one is surely not replaced.
func (w *worker) swap(ctx context.Context, req request) error {
	old, err := w.client.Get(ctx, w.key, w.step.spec.Read)
	if err := w.keep(old, err); err != nil {
		return err
	}
	work := w.step.work
	if w.whole, err = work.verify(w.whole, old, req.key, work.verifies(req.number)); err != nil {
		return err
	}
	return w.client.(database.Swapper).Swap(ctx, w.key, old, w.value)
}

// check returns what is wrong with what a call read.
func (w *worker) check(req request) (err error) {
	work := w.step.work
	switch work.ops[req.op] {
	case database.OpRange:
		err = work.verifyRange(req.key, w.got.keys, w.got.bytes)
	case database.OpRead, database.OpReadOneshot:
		w.value, err = work.verify(w.value, w.got.value, req.key, work.verifies(req.number))
	}
	return err
}

// oneshot reads over a connection of its own, which it opens and closes.
func (w *worker) oneshot(ctx context.Context) ([]byte, error) {
	client, err := w.step.Dial(ctx)
	if err != nil {
		return nil, database.NotApplied(database.ClassUnavailable, err)
	}
	value, err := client.Get(ctx, w.key, w.step.spec.Read)
	return value, errors.Join(err, client.Close())
}

// classify sets the outcome. What the deadline watcher ended is a time-out,
// whatever the client made of it.
func (w *worker) classify(d *done) {
	d.outcome, d.class = database.Classify(d.err)
	if w.flight.word.Load()&flightExpired != 0 && d.outcome != database.OK {
		d.class = database.ClassTimeout
	}
}
