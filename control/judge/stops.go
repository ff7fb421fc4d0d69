package judge

import (
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// A client whose process did not run for longStop at once, or for more than
// stoppedShare of the load, has a mark.
const (
	longStop     = 100 * time.Millisecond
	stoppedShare = 0.01
)

// stops marks a client that did not run for a part of the load: its requests were
// late then, and it read answers late. Whether that makes the numbers invalid depends
// on its share of the response times.
func (v *verdict) stops() {
	s := v.e.Run.Stops
	if s == nil || s.N == 0 {
		return
	}
	load, total := v.e.Run.LoadEnd.Sub(v.e.Run.LoadStart), time.Duration(s.TotalNS)
	if s.Longest.Length < longStop && float64(total) <= stoppedShare*float64(load) {
		return
	}
	times := "times"
	if s.N == 1 {
		times = "time"
	}
	v.mark(results.MarkStopped, false, "this client was stopped or starved %d %s for %v of %v in all, at most for %v, from %s on",
		s.N, times, total.Round(time.Millisecond), load.Round(time.Millisecond), s.Longest.Length.Round(time.Millisecond), s.Longest.From.UTC().Format("15:04:05.000 UTC"))
}
