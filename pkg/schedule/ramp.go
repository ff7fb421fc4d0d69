package schedule

import (
	"math"
	"sort"
	"sync/atomic"
)

// ramp changes the rate evenly from the start of a step to its end: request i is
// due when the integral of the rate reaches i.
type ramp struct {
	taken atomic.Int64
	limit int64   // requests
	end   int64   // nothing is due at or after end
	from  float64 // requests per nanosecond at the start
	slope float64 // its change per nanosecond
}

var (
	_ Schedule = (*ramp)(nil)
	_ Leaver   = (*ramp)(nil)
)

// newRamp takes rates in requests per second.
func newRamp(from, to float64, limit, end int64) *ramp {
	r := &ramp{end: end, from: from / 1e9, slope: (to - from) / 1e9 / float64(end)}
	// The area under the rate is how many are due in all.
	r.limit = min(limit, int64(math.Ceil((from+to)/2*float64(end)/1e9)))
	return r
}

// at solves from*t + slope*t^2/2 = i for t, in the form that does not cancel.
func (r *ramp) at(i int64) int64 {
	return int64(2 * float64(i) / (r.from + math.Sqrt(max(r.from*r.from+2*r.slope*float64(i), 0))))
}

// Next computes the due time from the number alone.
func (r *ramp) Next() (int64, int64, bool) {
	i := r.taken.Add(1) - 1
	if i >= r.limit {
		return i, 0, false
	}
	due := r.at(i)
	return i, due, due < r.end
}

// Due searches the numbers by bisection.
func (r *ramp) Due(t int64) (int64, int64) {
	return r.before(t), min(r.at(max(r.limit-1, 0)), r.end)
}

// Leave searches as Due does.
func (r *ramp) Leave(t int64) (int64, int64) { return leave(&r.taken, r.before(t)) }

func (r *ramp) before(t int64) int64 {
	t = min(t, r.end)
	return int64(sort.Search(int(r.limit), func(i int) bool { return r.at(int64(i)) >= t }))
}

func (r *ramp) Used() int64 { return min(r.taken.Load(), r.limit) }
