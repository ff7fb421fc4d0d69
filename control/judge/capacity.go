package judge

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// NoCapacity begins the mark of a search that found no capacity. The reason follows.
const NoCapacity = "a capacity was not found: "

// capacity marks a search that ended without a capacity, and one during which the cluster
// changed.
func (v *verdict) capacity() {
	c := v.e.Run.Capacity
	if c == nil {
		return
	}
	const of = NoCapacity
	const late, full = "the client sent too late, or had too few clients, in three windows in a row", "the store was full"
	switch c.Reason {
	case "found":
	case "out of windows":
		v.mark(results.MarkCapacity, false, "after %d windows the interval of the capacity is wider than %v", c.Counted, c.Tolerance)
	case "client-limited":
		v.mark(results.MarkCapacity, true, of+"at %s requests/s "+late, rateText(c.EndedAt))
	case "store full":
		v.mark(results.MarkCapacity, true, of+"at %s requests/s "+full, rateText(c.EndedAt))
	case "stalls":
		pauses := "none of them by a pause of the servers"
		if c.Stalled > 0 {
			pauses = fmt.Sprintf("%d of them by pauses of the servers", c.Stalled)
		}
		v.mark(results.MarkCapacity, false, of+"too many of %d windows failed whatever the rate, %s", c.Counted, pauses)
	case "below the least rate":
		v.mark(results.MarkCapacity, false, of+"it lies below %s requests/s", rateText(c.EndedAt))
	case "above the highest rate":
		v.mark(results.MarkCapacity, false, of+"it lies above %s requests/s", rateText(c.EndedAt))
	default:
		v.mark(results.MarkCapacity, true, of+"the search did not end")
	}
	if d := c.Drift; d != nil && !d.Agrees() {
		v.mark(results.MarkDrift, false, "at %.0f requests/s %.1f %% of the requests kept the limit at the beginning of the search and %.1f %% at its end", d.Rate, 100*d.First, 100*d.Last)
	}
	switch {
	case c.Hold == 0 || !c.Found() || c.Held > 0:
	case c.Unheld == "client-limited":
		v.mark(results.MarkCapacity, false, "the capacity was not held, because at %s requests/s "+late, rateText(c.EndedAt))
	case c.Unheld == "store full":
		v.mark(results.MarkCapacity, false, "the capacity was not held, because at %s requests/s "+full, rateText(c.EndedAt))
	default:
		v.mark(results.MarkCapacity, false, "none of %d rates from the capacity downwards was held for %v", c.Holds, c.Hold)
	}
}

// rateText is a rate with at most one digit behind the point.
func rateText(rate float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", rate), ".0") }
