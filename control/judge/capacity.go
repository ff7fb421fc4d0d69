package judge

import (
	"github.com/coreos/dbtester/pkg/results"
)

// capacity marks a search that ended without a capacity, and one during which the cluster
// changed.
func (v *verdict) capacity() {
	c := v.e.Run.Capacity
	if c == nil {
		return
	}
	const of = "a capacity was not found: "
	switch c.Reason {
	case "found":
	case "out of windows":
		v.mark(results.MarkCapacity, false, "after %d windows the interval of the capacity is wider than %v", c.Counted, c.Tolerance)
	case "client-limited":
		v.mark(results.MarkCapacity, true, of+"at %.0f requests/s the client sent too late, or had too few clients, in three windows in a row", c.EndedAt)
	case "store full":
		v.mark(results.MarkCapacity, true, of+"the store was full at %.0f requests/s", c.EndedAt)
	case "stalls":
		v.mark(results.MarkCapacity, false, of+"%d of %d windows failed, most by pauses of the servers that lower rates do not avoid", c.Stalled, c.Counted)
	case "below the least rate":
		v.mark(results.MarkCapacity, false, of+"it lies below %.4g requests/s", c.EndedAt)
	case "above the highest rate":
		v.mark(results.MarkCapacity, false, of+"it lies above %.0f requests/s", c.EndedAt)
	default:
		v.mark(results.MarkCapacity, true, of+"the search did not end")
	}
	if d := c.Drift; d != nil && !d.Agrees() {
		v.mark(results.MarkDrift, false, "at %.0f requests/s %.1f %% of the requests kept the limit at the beginning of the search and %.1f %% at its end", d.Rate, 100*d.First, 100*d.Last)
	}
	if c.Hold > 0 && c.Found() && c.Held == 0 {
		v.mark(results.MarkCapacity, false, "none of %d rates from the capacity downwards was held for %v", c.Holds, c.Hold)
	}
}
