package schedule

import (
	"math"
	"sync/atomic"
)

// constant makes request i due at i times the gap.
type constant struct {
	taken atomic.Int64
	limit int64   // requests
	end   int64   // nothing is due at or after end
	gap   float64 // nanoseconds between requests
}

var (
	_ Schedule = (*constant)(nil)
	_ Leaver   = (*constant)(nil)
)

func (s *constant) at(i int64) int64 { return int64(float64(i) * s.gap) }

// Next computes the due time from the number alone.
func (s *constant) Next() (int64, int64, bool) {
	i := s.taken.Add(1) - 1
	due := s.at(i)
	return i, due, i < s.limit && due < s.end
}

// Leave divides.
func (s *constant) Leave(t int64) (int64, int64) { return leave(&s.taken, s.before(min(t, s.end))) }

// leave raises a counter for the numbers handed out, and returns the new numbers.
func leave(taken *atomic.Int64, to int64) (int64, int64) {
	for {
		from := taken.Load()
		if from >= to {
			return to, to
		}
		if taken.CompareAndSwap(from, to) {
			return from, to
		}
	}
}

// Due divides.
func (s *constant) Due(t int64) (int64, int64) { return s.before(min(t, s.end)), s.last() }

func (s *constant) before(t int64) int64 {
	if t <= 0 {
		return 0
	}
	i := min(int64(float64(t)/s.gap), s.limit)
	for i > 0 && s.at(i-1) >= t { // float rounding, one step at most
		i--
	}
	for i < s.limit && s.at(i) < t {
		i++
	}
	return i
}

func (s *constant) last() int64 {
	if s.limit == math.MaxInt64 {
		return s.end
	}
	return min(s.at(s.limit-1), s.end)
}

func (s *constant) Used() int64 { return used(&s.taken, s.limit, s.end, s.before) }
