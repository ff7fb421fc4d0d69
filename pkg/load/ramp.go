package load

import (
	"math"
	"sort"
	"sync/atomic"
)

// ramp hands out requests at a rate that changes evenly from the start of a step
// to its end: request i is due when the integral of the rate reaches i.
type ramp struct {
	taken atomic.Int64
	n     int64
	end   int64   // nanoseconds
	from  float64 // requests per nanosecond at the start
	slope float64 // its change per nanosecond
}

func newRamp(from, to float64, n, end int64) *ramp {
	r := &ramp{end: end, from: from / 1e9, slope: (to - from) / 1e9 / float64(end)}
	// The area under the rate is how many are due in all.
	r.n = min(n, int64(math.Ceil((from+to)/2*float64(end)/1e9)))
	return r
}

// due solves from*t + slope*t^2/2 = i for t, in the form that does not cancel.
func (r *ramp) due(i int64) int64 {
	return int64(2 * float64(i) / (r.from + math.Sqrt(max(r.from*r.from+2*r.slope*float64(i), 0))))
}

func (r *ramp) next() (int64, int64, bool) {
	i := r.taken.Add(1) - 1
	if i >= r.n {
		return i, 0, false
	}
	due := r.due(i)
	return i, due, due < r.end
}

func (r *ramp) dueBefore(t int64) int64 {
	t = min(t, r.end)
	return int64(sort.Search(int(r.n), func(i int) bool { return r.due(int64(i)) >= t }))
}

func (r *ramp) last() int64 { return min(r.due(max(r.n-1, 0)), r.end) }

func (r *ramp) used() int64 { return min(r.taken.Load(), r.n) }
