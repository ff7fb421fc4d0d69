package load

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// issueEnd is when a step stops issuing requests: those due before it were
// offered, later ones were not. It only moves to earlier times while a step runs,
// and is safe for concurrent use.
type issueEnd struct{ ns atomic.Int64 }

// open starts a step without an end.
func (e *issueEnd) open() { e.ns.Store(math.MaxInt64) }

func (e *issueEnd) at() int64 { return e.ns.Load() }

// atMost moves the end to a time; the earliest one wins.
func (e *issueEnd) atMost(ns int64) {
	for old := e.ns.Load(); ns < old; old = e.ns.Load() {
		if e.ns.CompareAndSwap(old, ns) {
			return
		}
	}
}

// exhausted is closed when a step's schedule has no request left to take.
type exhausted struct {
	once sync.Once
	done chan struct{}
}

// exhaust notes that no request is left to take. That ends the issuing of a closed
// loop; a rate ends it when its last request was due.
func (s *step) exhaust() {
	s.exhausted.once.Do(func() {
		if !s.rated() {
			s.rec.endIssue(func() int64 { return s.rec.clock.Now() + 1 })
		}
		close(s.exhausted.done)
	})
}

// ending replaces a step's stop time while it is being set.
const ending = -1

// stopTime is when a step's clients stop issuing: planned by its duration, or
// earlier if the step is interrupted. It is safe for concurrent use.
type stopTime struct {
	ns     atomic.Int64
	passed chan struct{} // closed when issuing ended
}

func newStopTime() *stopTime {
	s := &stopTime{passed: make(chan struct{})}
	s.ns.Store(math.MaxInt64)
	return s
}

// interrupt stops at a time, or as planned if that is earlier. It returns when.
// Clients that ask meanwhile wait, so that none of them issues a request between
// reading the clock and setting the time.
func (s *stopTime) interrupt(now func() int64) int64 {
	planned := s.ns.Swap(ending)
	at := min(planned, now()+1)
	s.ns.Store(at)
	return at
}

// planned reports whether there is a stop: a duration, or an interrupt.
func (s *stopTime) planned() bool { return s.ns.Load() != math.MaxInt64 }

// over reports whether a time is at or after the stop. While an interrupt sets the
// stop, every time is.
func (s *stopTime) over(ns int64) bool { return ns >= s.ns.Load() }

// at is when nothing new is issued any more; it waits for an interrupt that is
// being set.
func (s *stopTime) at() int64 {
	at := s.ns.Load()
	if at == ending {
		<-s.passed
		at = s.ns.Load()
	}
	return at
}

// watchStop ends issuing when ctx ends or the step's duration is over.
func (s *step) watchStop(ctx, own context.Context) {
	defer func() {
		close(s.stop.passed)
		s.alarms.EndWaits()
	}()
	var over <-chan time.Time
	planned := s.stop.at()
	if s.Duration > 0 {
		t := time.NewTimer(time.Duration(planned - s.rec.clock.Now()))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		s.rec.endIssue(func() int64 { return s.stop.interrupt(s.rec.clock.Now) })
	case <-over:
		s.rec.issueEnd.atMost(planned)
	case <-own.Done():
	}
}
