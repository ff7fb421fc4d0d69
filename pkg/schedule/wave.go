package schedule

import (
	"math"
	"sort"
	"sync/atomic"
	"time"
)

// Wave is a rate that changes in periods around its mean. The zero value is none.
type Wave struct {
	// Period is the time of one wave, Peak the highest rate as a multiple of the mean.
	Period time.Duration
	Peak   float64
	// Burst, if not 0, is the time at the beginning of each period in which the rate is
	// highest; it is even during a burst and even between bursts. Otherwise the rate is a
	// sine, which begins at the mean and rises.
	Burst time.Duration
}

// wave makes request i due when the integral of a rate in waves reaches i. The mean of
// the rate over each period is exact.
type wave struct {
	taken atomic.Int64
	limit int64   // requests
	end   int64   // nothing is due at or after end
	rate  float64 // the mean, per nanosecond
	// until returns how much of a period's requests are due in a part of the period, both
	// from 0 to 1, and when is its inverse.
	until, when func(float64) float64
	period      float64 // nanoseconds
}

var (
	_ Schedule = (*wave)(nil)
	_ Leaver   = (*wave)(nil)
)

func newWave(rate float64, w Wave, limit, end int64) *wave {
	s := &wave{limit: limit, end: end, rate: rate / 1e9, period: float64(w.Period)}
	if w.Burst > 0 {
		s.until, s.when = burst(float64(w.Burst)/float64(w.Period), w.Peak)
	} else {
		s.until, s.when = sine(w.Peak - 1)
	}
	if end != Never {
		periods := math.Floor(float64(end) / s.period)
		due := s.rate * s.period * (periods + s.until(float64(end)/s.period-periods))
		s.limit = min(limit, int64(math.Ceil(due)))
	}
	return s
}

// burst returns the integral of a rate that has a peak for a share of a period, and its
// inverse. The peak is a multiple of the mean.
func burst(share, peak float64) (until, when func(float64) float64) {
	inside := min(share*peak, 1) // of the requests, during the burst
	outside := 1 - inside
	until = func(t float64) float64 {
		if t < share {
			return t * peak
		}
		return inside + outside*(t-share)/(1-share)
	}
	when = func(n float64) float64 {
		if n < inside || outside == 0 {
			return n / peak
		}
		return share + (n-inside)/outside*(1-share)
	}
	return until, when
}

// sine returns the integral of a rate of 1 + swing x sin(2 pi t), and its inverse.
func sine(swing float64) (until, when func(float64) float64) {
	until = func(t float64) float64 { return t + swing*(1-math.Cos(2*math.Pi*t))/(2*math.Pi) }
	when = func(n float64) float64 {
		low, high, t := 0.0, 1.0, n
		for range 64 { // Newton's steps, halving where one would leave the interval
			over := until(t) - n
			if math.Abs(over) < 1e-15 {
				break
			}
			if over > 0 {
				high = t
			} else {
				low = t
			}
			next := t - over/(1+swing*math.Sin(2*math.Pi*t))
			if !(next > low && next < high) {
				next = (low + high) / 2
			}
			if next == t {
				break
			}
			t = next
		}
		return t
	}
	return until, when
}

// at returns when request i is due.
func (s *wave) at(i int64) int64 {
	periods, part := math.Modf(float64(i) / (s.rate * s.period))
	return int64(s.period * (periods + s.when(part)))
}

// Next computes the due time from the number alone.
func (s *wave) Next() (int64, int64, bool) {
	i := s.taken.Add(1) - 1
	if i >= s.limit {
		return i, 0, false
	}
	due := s.at(i)
	return i, due, due < s.end
}

// Due searches the numbers by bisection.
func (s *wave) Due(t int64) (int64, int64) {
	return s.before(t), min(s.at(max(s.limit-1, 0)), s.end)
}

// Leave searches as Due does.
func (s *wave) Leave(t int64) (int64, int64) { return leave(&s.taken, s.before(t)) }

func (s *wave) before(t int64) int64 {
	t = min(t, s.end)
	return int64(sort.Search(int(s.limit), func(i int) bool { return s.at(int64(i)) >= t }))
}

func (s *wave) Used() int64 { return min(s.taken.Load(), s.limit) }
