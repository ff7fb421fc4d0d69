// Package schedule decides when each request in a load is due.
//
// Due times follow from the options alone, never from the database: a slow database makes
// requests late, it does not move them. Each kind of schedule has its own file, and [New] lists
// them all.
package schedule

import (
	"math"
	"sync/atomic"
	"time"
)

// Schedule numbers the requests in one step and decides when each is due. All times are nanoseconds
// after the step starts.
//
// Numbers start at 0 and have no gaps. A request is never due before one with a
// smaller number.
type Schedule interface {
	// Next takes the next request. Once ok is false, it stays false. Any number of
	// goroutines may call it.
	Next() (number, due int64, ok bool)
	// Due returns the number of requests due before t, and when the very last one is due. Last is
	// exact once t is less than [Foresight] before it. Until then it is an upper bound, [Never]
	// while there is no bound. One goroutine at a time calls Due, with a t that never decreases;
	// Next may be called meanwhile.
	Due(t int64) (before, last int64)
	// Used returns the number of requests that Next and Leave have handed out, without the calls
	// that found no request left. For an exhausted schedule it does not depend on how many
	// goroutines took them. Any goroutine may call it.
	Used() int64
}

// Leaver is a schedule that hands out many requests at once, in time independent of their number
// if the schedule can compute due times.
type Leaver interface {
	// Leave takes the requests due before t that Next has not handed out: the half-open
	// range [from, to). Any number of goroutines may call it.
	Leave(t int64) (from, to int64)
}

// Never is later than every due time.
const Never = math.MaxInt64

// Foresight is the time by which a schedule must know its end ahead: more than the seconds between
// two calls to Due. Bounded, because a Poisson schedule finds its end only by generating every
// arrival.
const Foresight = 3 * time.Second

// used returns the number of requests that a schedule which counts calls to Next has handed out:
// the first ones due before its end.
func used(taken *atomic.Int64, limit, end int64, before func(int64) int64) int64 {
	n := min(taken.Load(), limit)
	if end != Never {
		n = min(n, before(end))
	}
	return n
}
