package schedule

import (
	"math"
	"math/rand/v2"
	"sync"
)

// poisson draws exponential gaps: arrivals from many independent users. Three generators with the
// same seed run through the same arrivals: one hands out, one counts and one looks ahead for the
// last.
type poisson struct {
	limit, end int64

	mu   sync.Mutex // guards hand
	hand arrivals

	count, ahead arrivals // for the goroutine that calls Due
}

var (
	_ Schedule = (*poisson)(nil)
	_ Leaver   = (*poisson)(nil)
)

// arrivals generates one arrival after the other.
type arrivals struct {
	rand *rand.Rand
	gap  float64 // mean, in nanoseconds
	i    int64   // number of the arrival due at at
	at   float64
}

// stream is the second word in the generator seed.
const stream = 0x9e3779b97f4a7c15

func newArrivals(seed uint64, gap float64) arrivals {
	a := arrivals{rand: rand.New(rand.NewPCG(seed, stream)), gap: gap, i: -1}
	a.step()
	return a
}

func (a *arrivals) step() {
	a.i++
	a.at += a.rand.ExpFloat64() * a.gap
}

func newPoisson(seed uint64, gap float64, limit, end int64) *poisson {
	return &poisson{hand: newArrivals(seed, gap), count: newArrivals(seed, gap), ahead: newArrivals(seed, gap), limit: limit, end: end}
}

// Next draws the next gap.
func (s *poisson) Next() (int64, int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, due := s.hand.i, int64(s.hand.at)
	if i >= s.limit || due >= s.end {
		return i, due, false
	}
	s.hand.step()
	return i, due, true
}

// Leave draws the gaps up to t.
func (s *poisson) Leave(t int64) (from, to int64) {
	t = min(t, s.end)
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.hand.i
	for s.hand.i < s.limit && int64(s.hand.at) < t {
		s.hand.step()
	}
	return from, s.hand.i
}

// Due draws the gaps up to t again, and those up to Foresight later.
func (s *poisson) Due(t int64) (int64, int64) {
	t = min(t, s.end)
	for s.count.i < s.limit && int64(s.count.at) < t {
		s.count.step()
	}
	return s.count.i, s.last(t)
}

// last looks ahead for the last request.
func (s *poisson) last(t int64) int64 {
	if s.limit == math.MaxInt64 {
		return s.end
	}
	until := min(t, s.end-int64(Foresight)) + int64(Foresight)
	for s.ahead.i < s.limit-1 && int64(s.ahead.at) < until {
		s.ahead.step()
	}
	if s.ahead.i < s.limit-1 {
		return s.end
	}
	return min(int64(s.ahead.at), s.end)
}

func (s *poisson) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hand.i
}
