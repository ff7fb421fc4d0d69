package load

import (
	"math"
	"sync"
	"sync/atomic"
)

// issueEnd is when a step stops issuing requests: requests due before it were
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

// exhausted is closed when the schedule has no request left to take.
type exhausted struct {
	once sync.Once
	done chan struct{}
}

// ending replaces a stop time while it is being set.
const ending = -1

// stopTime is when the clients of a step stop issuing: planned by its duration, or earlier if the
// step is interrupted. It is safe for concurrent use.
type stopTime struct {
	ns     atomic.Int64
	passed chan struct{} // closed when issuing ended
}

func newStopTime() *stopTime {
	s := &stopTime{passed: make(chan struct{})}
	s.ns.Store(math.MaxInt64)
	return s
}

// interrupt stops at a time, or as planned if that is earlier, and returns the stop. Between
// reading the clock and setting the time, no client issues a request: over returns true, and at
// waits.
func (s *stopTime) interrupt(now func() int64) int64 {
	planned := s.ns.Swap(ending)
	at := min(planned, now()+1)
	s.ns.Store(at)
	return at
}

// planned reports whether there is a stop: a duration, or an interrupt.
func (s *stopTime) planned() bool { return s.ns.Load() != math.MaxInt64 }

// over reports whether a time is at or after the stop. It returns true for every time
// while an interrupt sets the stop.
func (s *stopTime) over(ns int64) bool { return ns >= s.ns.Load() }

// at returns the time from which nothing new is issued; it waits for an interrupt being set.
func (s *stopTime) at() int64 {
	at := s.ns.Load()
	if at == ending {
		<-s.passed
		at = s.ns.Load()
	}
	return at
}
