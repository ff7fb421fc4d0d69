package load

import (
	"bytes"
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
	key    []byte
	value  []byte
}

func newWorker(s *step, n int, client database.Client) *worker {
	w := &worker{
		step: s, client: client, shard: s.rec.shardOf(n),
		key:   make([]byte, 0, max(s.spec.KeySize, 20)),
		value: make([]byte, 0, s.spec.ValueSize),
	}
	w.ctx.Store(newCallContext(w))
	return w
}

// run is the client's loop.
func (w *worker) run() {
	defer func() { w.ctx.Load().cancel() }()
	w.timer = time.NewTimer(time.Hour)
	defer w.timer.Stop()
	w.wait(w.step.start)
	for w.one() {
	}
}

// one takes and ends one request; false means there is nothing more to do.
func (w *worker) one() bool {
	s := w.step
	i, due, ok := s.schedule.next()
	if !ok {
		w.exhausted()
		return false
	}
	if s.Rate == 0 {
		return w.closed(i)
	}
	return w.open(i, s.start+due)
}

// exhausted ends the population of a closed loop when the schedule has no more
// requests. What others took before is still sent.
func (w *worker) exhausted() {
	if w.step.Rate == 0 {
		w.step.rec.endIssuing(w.step.rec.now())
	}
}

// closed applies a request of a closed loop, which is due when it is sent.
func (w *worker) closed(i int64) bool {
	s := w.step
	now := s.rec.now()
	if now >= s.stopAt.Load() {
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
	stopAt := s.stopAt.Load()
	switch {
	case due >= stopAt: // the load ended before: it was never offered
		return false
	case now >= s.rec.issueEnd.Load()+int64(s.spec.Drain): // unsent
		return false
	case s.spec.Shed && flags == flightQueued && now-due > lateAfter:
		w.shard.shed(s.rec, now, s.phase(due-s.start))
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
	select {
	case <-w.timer.C:
	case <-w.step.stop:
	}
}

// apply sends request i and records how it ended.
func (w *worker) apply(i, due, now, flags int64) {
	s := w.step
	number := s.first + i
	w.prepare(number)
	phase := s.phase(due - s.start)
	call := w.ctx.Load()
	sent := s.rec.now()
	if s.Rate == 0 {
		due = sent
	}
	w.flight.word.Store(packFlight(sent, phase, flags))
	err := w.call(call, number)
	d := done{due: due, sent: sent, end: s.rec.now(), phase: phase, err: err}
	if err != nil {
		w.classify(&d)
	}
	if w.shard.record(s.rec, &w.flight, &d)&flightExpired != 0 {
		w.ctx.Store(newCallContext(w))
	}
	if d.outcome != database.OK {
		s.rec.fails.record(s.rec, &d)
	}
}

// prepare fills the key, and the value of an operation that has one.
func (w *worker) prepare(number int64) {
	spec := &w.step.spec
	if spec.SameKey {
		w.key = appendSameKey(w.key[:0], spec.KeySize)
	} else {
		w.key = appendKey(w.key[:0], number, spec.KeySize)
	}
	switch spec.Operation {
	case database.OpWrite, database.OpUpdate:
		w.value = appendValue(w.value[:0], spec.Seed, number, spec.ValueSize)
	}
}

// call applies the operation.
func (w *worker) call(ctx context.Context, number int64) error {
	spec := &w.step.spec
	switch spec.Operation {
	case database.OpWrite, database.OpUpdate:
		return w.client.Put(ctx, w.key, w.value)
	case database.OpRead:
		value, err := w.client.Get(ctx, w.key, spec.Read)
		if err != nil {
			return err
		}
		return w.verify(value, number)
	default:
		return database.NotApplied(database.ClassOther, fmt.Errorf("operation %q is not implemented", spec.Operation))
	}
}

// verify checks the length of every value read and the content of one in a
// thousand.
func (w *worker) verify(value []byte, number int64) error {
	spec := &w.step.spec
	if len(value) != spec.ValueSize {
		return database.NotApplied(database.ClassWrongValue, fmt.Errorf("read %d bytes, want %d", len(value), spec.ValueSize))
	}
	if number%1000 != 0 {
		return nil
	}
	of := number
	if spec.SameKey {
		of = 0
	}
	w.value = appendValue(w.value[:0], spec.Seed, of, spec.ValueSize)
	if !bytes.Equal(value, w.value) {
		return database.NotApplied(database.ClassWrongValue, errors.New("the value read is not the one written"))
	}
	return nil
}

// classify sets the outcome. What the deadline watcher ended is a time-out,
// whatever the client made of it.
func (w *worker) classify(d *done) {
	d.outcome, d.class = database.Classify(d.err)
	if w.flight.word.Load()&flightExpired != 0 && d.outcome != database.OK {
		d.class = database.ClassTimeout
	}
}

// Preload writes the key that a load of reads with the same key reads.
func Preload(ctx context.Context, spec Spec, client database.Client) error {
	key := appendSameKey(nil, spec.KeySize)
	if err := client.Put(ctx, key, appendValue(nil, spec.Seed, 0, spec.ValueSize)); err != nil {
		return fmt.Errorf("write the key to read: %w", err)
	}
	return nil
}
