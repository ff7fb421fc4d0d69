package stops

import (
	"sync/atomic"
	"time"
)

// The requests delayed by a stop cannot be seen directly: the client does not know when an answer
// arrived, only when it read the answer. By this rule, a stop delayed
//
//   - a call that was in flight, if its answer was read before the process had run for
//     [Apart] after the stop, or after another such answer: the answer may have arrived
//     during the stop;
//   - a request that became due for a free client before the stop was over;
//   - requests that queued behind either of them, until a client is free again.
//
// Every other call had no answer yet when the stop was over, so the servers took longer
// than the stop. A stop in a time without answers, in which no request becomes due for a
// free client, delayed nothing.

// Apart is the greatest distance between answers read in one row after a stop. The process may
// stop for that long without being noticed.
const Apart = Every + time.Duration(stopMin)

// maxRow bounds the stops in one row.
const maxRow = 10_000

// row is a stop, or several between which the process ran for less than Apart: answers
// that arrived during the first may be read after the last.
type row struct {
	stops []span // in order; the array is shared with the rows that this one extends
	first int64  // number of the first stop, from 1
	// until is when the last answer delayed by the row was read, or when the row ended.
	until atomic.Int64
}

func (r *row) end() int64 { return r.stops[len(r.stops)-1].to }

// last returns the last stop in the row, by number.
func (r *row) last() int64 { return r.first + int64(len(r.stops)) - 1 }

// length returns a stop's duration in nanoseconds.
func (r *row) length(number int64) int64 {
	stop := r.stops[number-r.first]
	return stop.to - stop.from
}

// extend adds a stop to the latest row, or begins another row. The lock is held.
func (s *Stops) extend(stop span) {
	next := &row{first: s.number.Add(1), stops: []span{stop}}
	// The process ran when it set the watch that was missed, or later.
	ran := stop.from - int64(Every)
	if r := s.row.Load(); r != nil && len(r.stops) < maxRow && ran-r.end() < int64(Apart) {
		next.first, next.stops = r.first, append(r.stops, stop)
	}
	next.until.Store(stop.to)
	s.row.Store(next)
}

// Number returns the stop count so far, for [Stops.Free].
func (s *Stops) Number() int64 { return s.number.Load() }

// Free reports that a client takes a request before it is due, so that no request waits for a
// client. Before is the number of stops before the client read the clock.
func (s *Stops) Free(before int64) {
	if s.freed.Load() >= before {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.freed.Load() >= before {
		return
	}
	s.freed.Store(before)
	var debt int64
	if r := s.row.Load(); r != nil {
		for n := max(before+1, r.first); n <= min(s.counted, r.last()); n++ {
			debt += r.length(n)
		}
	}
	s.debt.Store(debt)
}

// Delayed returns the time, in nanoseconds, by which stops delayed the answer to a call sent and
// answered at these times.
func (s *Stops) Delayed(sent, answered int64) (ns int64) {
	r := s.row.Load()
	if r == nil || sent >= r.end() || answered < r.end() || !r.reaches(answered) {
		return 0
	}
	s.count(r)
	for n := len(r.stops) - 1; n >= 0 && r.stops[n].to > sent; n-- {
		ns += r.stops[n].to - max(r.stops[n].from, sent)
	}
	return ns
}

// Before returns the beginning and the total length of the stops that may have delayed a reading
// at a time; length 0 means no stop.
func (s *Stops) Before(read int64) (from int64, length time.Duration) {
	r := s.row.Load()
	if r == nil || read < r.end() || !r.reaches(read) {
		return 0, 0
	}
	for _, stop := range r.stops {
		length += time.Duration(stop.to - stop.from)
	}
	return r.stops[0].from, length
}

// reaches reports whether an answer belongs to those read in one row after the stop, and lets the
// next one follow it.
func (r *row) reaches(answered int64) bool {
	for {
		until := r.until.Load()
		if answered-until > int64(Apart) {
			return false
		}
		if answered <= until || r.until.CompareAndSwap(until, answered) {
			return true
		}
	}
}

// Woke reports that a client, which was free when its request became due, runs now. A stop
// since then delayed the request.
func (s *Stops) Woke(due, now int64) {
	if r := s.row.Load(); r != nil && due < r.end() && now >= r.end() {
		s.count(r)
	}
}

// count adds the stops of a row to the debt, except stops already added or followed by a free
// client.
func (s *Stops) count(r *row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := max(s.counted+1, s.freed.Load()+1, r.first); n <= r.last(); n++ {
		s.debt.Add(r.length(n))
	}
	s.counted = max(s.counted, r.last())
}

// Share returns the part of a request's wait for a client that the client itself caused. A queue
// served in order delays each request by at most the stops that delayed requests since a client was
// last free; the rest of the wait is due to the database.
func (s *Stops) Share(wait int64) int64 { return min(wait, s.debt.Load()) }
