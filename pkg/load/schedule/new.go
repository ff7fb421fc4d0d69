package schedule

import (
	"math"
	"time"
)

// Options describe a schedule. A new kind of schedule gets fields here, a file beside
// this one and a case in New.
type Options struct {
	// Requests bounds the schedule; 0 is no bound.
	Requests int64
	// Duration, if not 0, is when it ends: nothing is due then or later.
	Duration time.Duration
	// Rate is in requests per second; 0 is a closed loop.
	Rate float64
	// RateEnd, if not 0, is the rate at the end of Duration, which it needs.
	RateEnd float64
	// Poisson draws the gaps between requests at random from Seed; a changing rate is always
	// even.
	Poisson bool
	Seed    uint64
	// Wave makes the rate change in periods; Rate is then its mean.
	Wave Wave
	// Part, if not the zero value, leaves out the requests of other parts. The remaining requests
	// are numbered from 0 without gaps: [Part.Number] gives their numbers in the whole, which all
	// other options describe.
	Part Part
}

// New returns the schedule that the options describe.
func New(o Options) Schedule {
	s := whole(o)
	if o.Part.Whole() {
		return s
	}
	return s.part(o.Part)
}

// whole has one case for each kind.
func whole(o Options) divisible {
	switch limit := o.limit(); {
	case o.Rate == 0:
		return &closedLoop{limit: limit}
	case o.RateEnd > 0:
		return newRamp(o.Rate, o.RateEnd, limit, o.end())
	case o.Wave != (Wave{}):
		return newWave(o.Rate, o.Wave, limit, o.end())
	case o.Poisson:
		return newPoisson(o.Seed, 1e9/o.Rate, limit, o.end())
	default:
		return &constant{limit: limit, end: o.end(), gap: 1e9 / o.Rate}
	}
}

// limit returns the bound on requests, math.MaxInt64 without one.
func (o Options) limit() int64 {
	if o.Requests == 0 {
		return math.MaxInt64
	}
	return o.Requests
}

// end returns the time from which nothing is due.
func (o Options) end() int64 {
	if o.Duration > 0 {
		return int64(o.Duration)
	}
	return Never
}
