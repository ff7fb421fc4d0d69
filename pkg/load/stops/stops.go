// Package stops finds when the load process did not run.
package stops

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	// Never is a moment after all others.
	Never = math.MaxInt64
	// Every is the watchdog period.
	Every = 10 * time.Millisecond
	// stopMin is the shortest pause of the whole load that counts as a stop, in nanoseconds. A
	// shorter time shows in the scheduling lag.
	stopMin = int64(10 * time.Millisecond)
	// maxStretches bounds the stops listed one by one, each at least minStretch long. The sums
	// include all stops.
	maxStretches = 1000
	minStretch   = 100 * time.Millisecond
)

// span is a stop, as clock times.
type span struct{ from, to int64 }

// Stops finds the stretches in which this process did not run: it was stopped, or it waited for a
// processor. A watchdog shows every Every that the process runs. If it is overdue by more than
// stopMin, and the goroutine that notices this has not run for as long either, the process was
// stopped. The stop lasted from the watchdog's due time or the goroutine's last run, whichever is
// later, until now. The first goroutine to run after a stop records it, so that a client continuing
// before the watchdog knows of the stop.
type Stops struct {
	clock clock.Clock
	// watch is when the watchdog is due, [Never] while no watchdog runs.
	watch atomic.Int64
	// number counts the stops so far.
	number atomic.Int64
	// row is the latest row of stops; nil before the first.
	row atomic.Pointer[row]
	// freed counts the stops when a client was last free. Debt is the total length of later stops
	// that delayed requests.
	freed, debt atomic.Int64

	mu      sync.Mutex
	counted int64  // number of the last stop added to the debt
	pending []span // not yet taken by a flush
	record  results.Stops
}

// New returns a record without stops, and without a watchdog.
func New(c clock.Clock) *Stops {
	s := &Stops{clock: c}
	s.watch.Store(Never)
	return s
}

// Watchdog shows that the process runs, by a beat every [Every]. It is not safe for concurrent use.
type Watchdog struct {
	stops *Stops
	// Since is when it last ran, and Due when it must run next.
	Since, Due int64
}

// Watchdog returns a watchdog whose first beat is due.
func (s *Stops) Watchdog() *Watchdog {
	now := s.clock.Now()
	w := &Watchdog{s, now, now + int64(Every)}
	s.Beat(now, now, w.Due)
	return w
}

// Beat shows that the process runs now. It returns how late the beat is, and when the next one is
// due.
func (w *Watchdog) Beat() (late, next int64) {
	now := w.stops.clock.Now()
	late, next = max(now-w.Due, 0), now+int64(Every)
	w.stops.Beat(w.Since, now, next)
	w.Since, w.Due = now, next
	return late, next
}

// End is called when no more beats come.
func (w *Watchdog) End() { w.stops.Beat(w.Since, w.stops.clock.Now(), Never) }

// Watch beats until ctx ends, and calls each with the lateness of a beat.
func (s *Stops) Watch(ctx context.Context, each func(late int64)) {
	timer := time.NewTimer(Every)
	defer timer.Stop()
	w := s.Watchdog()
	defer w.End()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		late, _ := w.Beat()
		each(late)
		timer.Reset(Every)
	}
}

// Beat is called by the watchdog, which ran last at since, runs now, and is due again at
// next. Next is [Never] when it ends.
func (s *Stops) Beat(since, now, next int64) {
	s.Seen(since, now)
	s.watch.Store(next)
}

// Seen reports that a goroutine runs now. It ran last at since.
func (s *Stops) Seen(since, now int64) {
	if watch := s.watch.Load(); now > watch {
		s.overdue(watch, since, now)
	}
}

// overdue records a stop, or that there was no stop because the goroutine has just run. Either
// way the process runs now, so the watchdog is not missed before its next turn; else every
// request would change the shared word while processors are busy. Any goroutine that ran more
// than stopMin after the watchdog was due has moved the watch. So if this goroutine last ran
// after the watchdog was due, nothing ran for longer since then.
func (s *Stops) overdue(watch, since, now int64) {
	from := max(watch, since)
	stopped := now-from > stopMin
	if !stopped && since <= watch {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch.Load() != watch {
		return // another goroutine was first
	}
	if stopped {
		s.extend(span{from, now})
		s.pending = append(s.pending, span{from, now})
		s.add(from, time.Duration(now-from))
	}
	s.watch.CompareAndSwap(watch, now+int64(Every)) // last: a reader that finds it moved also finds the stop
}

// add adds a stop to the record. The lock is held.
func (s *Stops) add(from int64, length time.Duration) {
	r := &s.record
	r.N++
	r.TotalNS += int64(length)
	stretch := results.Stretch{From: s.clock.Time(from), Length: length}
	if length > r.Longest.Length {
		r.Longest = stretch
	}
	if length >= minStretch && len(r.Stretches) < maxStretches {
		r.Stretches = append(r.Stretches, stretch)
	}
}

// In takes the total length of the stops before a second ends, without those taken before.
func (s *Stops) In(sec int64) (ns int64) {
	end := s.clock.SecondStart(sec + 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.pending {
		p := &s.pending[n]
		ns += max(min(p.to, end)-p.from, 0)
		p.from = min(max(p.from, end), p.to)
	}
	s.pending = slices.DeleteFunc(s.pending, func(p span) bool { return p.from >= p.to })
	return ns
}

// Forget makes [Stops.All] return only the stops from now on. The delays of earlier stops
// still count.
func (s *Stops) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = results.Stops{}
}

// All returns the stops in all steps since [Stops.Forget].
func (s *Stops) All() results.Stops {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := s.record
	record.Stretches = slices.Clone(record.Stretches)
	return record
}
