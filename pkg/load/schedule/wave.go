package schedule

import (
	"math"
	"time"
)

// Wave is a rate that changes in periods around its mean. The zero value is a constant rate.
type Wave struct {
	// Period is the wave duration, Peak the highest rate as a multiple of the mean.
	Period time.Duration
	Peak   float64
	// Burst, if not 0, is the time at the beginning of each period in which the rate is
	// highest; it is even during a burst and even between bursts. Otherwise the rate is a
	// sine, which begins at the mean and rises.
	Burst time.Duration
}

// newWave makes request i due when the integral of a rate in waves reaches i. The mean rate over
// each period is exact.
func newWave(rate float64, w Wave, limit, end int64) *computed {
	// until returns the share of requests due in a part of a period, both from 0 to 1, and when is
	// its inverse.
	until, when := sine(w.Peak - 1)
	if w.Burst > 0 {
		until, when = burst(float64(w.Burst)/float64(w.Period), w.Peak)
	}
	period := float64(w.Period)
	each := rate / 1e9 * period // requests in a period
	if end != Never {
		periods := math.Floor(float64(end) / period)
		due := each * (periods + until(float64(end)/period-periods))
		limit = min(limit, int64(math.Ceil(due)))
	}
	return &computed{
		at: func(i int64) int64 {
			periods, part := math.Modf(float64(i) / each)
			return int64(period * (periods + when(part)))
		},
		limit: limit, end: end,
	}
}

// burst returns the integral of a rate that peaks for a share of a period, and its inverse. The
// peak is a multiple of the mean.
func burst(share, peak float64) (until, when func(float64) float64) {
	inside := min(share*peak, 1) // the share of requests during the burst
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

// sine returns the integral of the rate 1 + swing x sin(2 pi t), and its inverse.
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
