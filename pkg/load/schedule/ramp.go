package schedule

import "math"

// newRamp changes the rate evenly over a step: request i is due when the rate integral reaches i.
// Rates are in requests per second.
func newRamp(from, to float64, limit, end int64) *computed {
	perNano := from / 1e9
	slope := (to - from) / 1e9 / float64(end) // change in perNano in a nanosecond
	return &computed{
		// from*t + slope*t^2/2 = i solved for t, in the form that does not cancel.
		at: func(i int64) int64 {
			return int64(2 * float64(i) / (perNano + math.Sqrt(max(perNano*perNano+2*slope*float64(i), 0))))
		},
		// The area under the rate is the number due in all.
		limit: min(limit, int64(math.Ceil((from+to)/2*float64(end)/1e9))),
		end:   end,
	}
}
