package schedule

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Part is one machine's share of a schedule that several machines divide: the requests whose number
// modulo Of is Index. The zero value is the whole.
type Part struct{ Index, Of int }

// Check returns an error if there is no such part.
func (p Part) Check() error {
	if p.Of < 0 || p.Index < 0 || p.Index >= max(p.Of, 1) {
		return fmt.Errorf("a part must have an index from 0 to the number of parts less 1, got index %d of %d parts", p.Index, p.Of)
	}
	return nil
}

// Whole reports whether there is no other part.
func (p Part) Whole() bool { return p.Of <= 1 }

// From returns the part in numbers that begin at first: number n is in p if n - first is
// in the result.
func (p Part) From(first int64) Part {
	if p.Whole() {
		return p
	}
	of := int64(p.Of)
	return Part{Index: int(((int64(p.Index)-first)%of + of) % of), Of: p.Of}
}

// Number returns the part's n-th number, n from 0.
func (p Part) Number(n int64) int64 { return int64(p.Index) + n*int64(max(p.Of, 1)) }

// Count counts the part's numbers in the half-open range from 0 to n.
func (p Part) Count(n int64) int64 {
	switch {
	case p.Whole():
		return n
	case n <= int64(p.Index):
		return 0
	}
	return (n-1-int64(p.Index))/int64(p.Of) + 1
}

// divisible is a schedule that has parts. Parts number their own requests without gaps. Due times,
// and the last one that Due returns, are those of the whole schedule, so that all parts end
// together.
type divisible interface {
	Schedule
	part(p Part) Schedule
}

func (s *closedLoop) part(p Part) Schedule { return &closedLoop{limit: p.Count(s.limit)} }

func (s *constant) part(p Part) Schedule {
	return &share{part: p, at: s.at, before: s.before, last: s.last, limit: s.limit, end: s.end}
}

func (c *computed) part(p Part) Schedule {
	return &share{part: p, at: c.at, before: c.before, last: c.last, limit: c.limit, end: c.end}
}

// share is a part of a schedule whose due times follow from request numbers alone.
type share struct {
	part Part
	// at is when request i of the whole is due, before how many of the whole are due before a time,
	// and last when its last request is due.
	at, before func(int64) int64
	last       func() int64
	limit, end int64 // in the whole
	taken      atomic.Int64
}

var _ Leaver = (*share)(nil)

// Next computes the due time.
func (s *share) Next() (int64, int64, bool) {
	n := s.taken.Add(1) - 1
	i := s.part.Number(n)
	if i >= s.limit {
		return n, 0, false
	}
	due := s.at(i)
	return n, due, due < s.end
}

// Due calls the whole.
func (s *share) Due(t int64) (int64, int64) { return s.due(t), s.last() }

// Leave calls the whole.
func (s *share) Leave(t int64) (int64, int64) { return leave(&s.taken, s.due(t)) }

func (s *share) due(t int64) int64 { return s.part.Count(s.before(min(t, s.end))) }

func (s *share) Used() int64 { return used(&s.taken, s.part.Count(s.limit), s.end, s.due) }

// part draws all arrivals and hands out those of the part, at one draw for each request in the
// whole.
func (s *poisson) part(p Part) Schedule {
	h := &poissonShare{part: p, whole: s, hand: s.hand}
	for range p.Index {
		h.hand.step()
	}
	return h
}

// poissonShare is a part of a [poisson] schedule, which then only counts and looks ahead.
type poissonShare struct {
	part  Part
	whole *poisson

	mu   sync.Mutex // guards the fields below
	next int64      // the part's next request number
	hand arrivals   // its arrival
}

var _ Leaver = (*poissonShare)(nil)

// Next draws the gaps up to the next request in the part.
func (s *poissonShare) Next() (int64, int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, due := s.next, int64(s.hand.at)
	if s.hand.i >= s.whole.limit || due >= s.whole.end {
		return n, due, false
	}
	s.advance()
	return n, due, true
}

// advance goes to the next request in the part. The lock is held.
func (s *poissonShare) advance() {
	s.next++
	for range s.part.Of {
		s.hand.step()
	}
}

// Due counts requests in the whole schedule.
func (s *poissonShare) Due(t int64) (int64, int64) {
	before, last := s.whole.Due(t)
	return s.part.Count(before), last
}

// Leave draws the gaps up to t.
func (s *poissonShare) Leave(t int64) (from, to int64) {
	t = min(t, s.whole.end)
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.next
	for s.hand.i < s.whole.limit && int64(s.hand.at) < t {
		s.advance()
	}
	return from, s.next
}

func (s *poissonShare) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}
