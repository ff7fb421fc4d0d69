package load

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// schedule hands out a step's requests: their numbers within the step, and when
// they are due in nanoseconds after the step's start. It is safe for concurrent
// use.
type schedule interface {
	// next returns the next request; ok is false when there is none. In a closed
	// loop due is 0: at once.
	next() (i, due int64, ok bool)
	// dueBefore counts the requests due before t. Calls have growing t.
	dueBefore(t int64) int64
	// last is when the last request is due, or a time after that as long as it is not
	// known; MaxInt64 in a closed loop. After dueBefore(t) it is known if it is less
	// than foresight after t.
	last() int64
	// used is how many request numbers were handed out.
	used() int64
}

// closedLoop hands out requests as clients ask for them.
type closedLoop struct {
	taken atomic.Int64
	n     int64
}

func (s *closedLoop) next() (int64, int64, bool) {
	i := s.taken.Add(1) - 1
	return i, 0, i < s.n
}

// dueBefore is not known beforehand in a closed loop: a request is due when it
// is sent.
func (s *closedLoop) dueBefore(int64) int64 { return -1 }

func (s *closedLoop) last() int64 { return math.MaxInt64 }

func (s *closedLoop) used() int64 { return min(s.taken.Load(), s.n) }

// constant hands out request i for start + i/rate.
type constant struct {
	taken atomic.Int64
	n     int64
	end   int64   // nothing is due at or after end
	gap   float64 // nanoseconds between requests
}

func (s *constant) due(i int64) int64 { return int64(float64(i) * s.gap) }

func (s *constant) next() (int64, int64, bool) {
	i := s.taken.Add(1) - 1
	due := s.due(i)
	return i, due, i < s.n && due < s.end
}

func (s *constant) dueBefore(t int64) int64 {
	t = min(t, s.end)
	if t <= 0 {
		return 0
	}
	i := min(int64(float64(t)/s.gap), s.n)
	for i > 0 && s.due(i-1) >= t { // float rounding, one step at most
		i--
	}
	for i < s.n && s.due(i) < t {
		i++
	}
	return i
}

func (s *constant) last() int64 {
	if s.n == math.MaxInt64 {
		return s.end
	}
	return min(s.due(s.n-1), s.end)
}

func (s *constant) used() int64 { return min(s.taken.Load(), s.n) }

// foresight is how much later than it was last asked for a schedule knows its end:
// more than the seconds between two flushes, and no more, for a schedule that walks
// through its requests would take as long for all of them as a load can be long.
const foresight = int64(3 * time.Second)

// poisson hands out requests with exponential gaps: arrivals of many users who
// do not know of each other. Three generators of the same seed run through the
// same arrivals: one hands out, one counts and one looks ahead for the last.
type poisson struct {
	mu      sync.Mutex
	hand    arrivals
	countMu sync.Mutex
	count   arrivals
	ahead   arrivals
	n, end  int64
}

type arrivals struct {
	rand *rand.Rand
	gap  float64
	i    int64 // number of the arrival that is due at at
	at   float64
}

func newArrivals(seed uint64, gap float64) arrivals {
	a := arrivals{rand: rand.New(rand.NewPCG(seed, golden)), gap: gap, i: -1}
	a.step()
	return a
}

func (a *arrivals) step() {
	a.i++
	a.at += a.rand.ExpFloat64() * a.gap
}

func newPoisson(seed uint64, gap float64, n, end int64) *poisson {
	s := &poisson{hand: newArrivals(seed, gap), count: newArrivals(seed, gap), ahead: newArrivals(seed, gap), n: n, end: end}
	s.foresee(0)
	return s
}

// foresee looks for the last request from a time on.
func (s *poisson) foresee(t int64) {
	if s.n == math.MaxInt64 {
		return // the end is
	}
	t = min(t, s.end-foresight) + foresight
	for s.ahead.i < s.n-1 && int64(s.ahead.at) < t {
		s.ahead.step()
	}
}

func (s *poisson) last() int64 {
	s.countMu.Lock()
	defer s.countMu.Unlock()
	if s.ahead.i < s.n-1 {
		return s.end
	}
	return min(int64(s.ahead.at), s.end)
}

func (s *poisson) used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.hand.i, s.n)
}

func (s *poisson) next() (int64, int64, bool) {
	s.mu.Lock()
	i, due := s.hand.i, int64(s.hand.at)
	s.hand.step()
	s.mu.Unlock()
	return i, due, i < s.n && due < s.end
}

func (s *poisson) dueBefore(t int64) int64 {
	s.countMu.Lock()
	defer s.countMu.Unlock()
	t = min(t, s.end)
	for s.count.i < s.n && int64(s.count.at) < t {
		s.count.step()
	}
	s.foresee(t)
	return s.count.i
}

// newSchedule returns the schedule of a step.
func newSchedule(spec Spec, step Step) schedule {
	n := step.Requests
	if n == 0 {
		n = math.MaxInt64
	}
	if step.Rate == 0 {
		return &closedLoop{n: n}
	}
	end := int64(math.MaxInt64)
	if step.Duration > 0 {
		end = int64(step.Duration)
	}
	if step.RateEnd > 0 {
		return newRamp(step.Rate, step.RateEnd, n, end)
	}
	gap := 1e9 / step.Rate
	if spec.Poisson {
		return newPoisson(mix64(spec.Seed+uint64(step.Index)), gap, n, end)
	}
	return &constant{n: n, end: end, gap: gap}
}
