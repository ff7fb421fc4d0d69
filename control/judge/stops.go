package judge

import (
	"time"

	"github.com/coreos/dbtester/pkg/mark"
)

// A client whose process did not run for longStop at once, or for more than stoppedShare of the
// load, gets a mark.
const (
	longStop     = 100 * time.Millisecond
	stoppedShare = 0.01
)

// stops marks clients that did not run during a part of the load: they sent requests late then, and
// read answers late. Whether that makes the numbers invalid depends on the share in the response
// times.
func (v *verdict) stops(c *Client) {
	s := c.Stops
	if s == nil || s.N == 0 {
		return
	}
	load, total := v.e.Run.LoadEnd.Sub(v.e.Run.LoadStart), time.Duration(s.TotalNS)
	if s.Longest.Length < longStop && float64(total) <= stoppedShare*float64(load) {
		return
	}
	values := mark.Values{"stops": float64(s.N), "stopped_seconds": total.Seconds(), "load_seconds": load.Seconds(), "longest_seconds": s.Longest.Length.Seconds()}
	if load > 0 {
		values["stopped_percent"] = 100 * total.Seconds() / load.Seconds()
	}
	if own, known := v.largestOwn(c); known {
		values["own_percent"] = own
	}
	v.mark(mark.Stopped, false, values, c.who(mark.Words{"from": s.Longest.From.UTC().Format("15:04:05.000 UTC")}))
}

// largestOwn returns the largest share of response times in a step, in percent, by which the client
// sent late or was stopped. It is unknown if a step did not record it.
func (v *verdict) largestOwn(c *Client) (percent float64, known bool) {
	for _, s := range v.stepsOf(c) {
		if s.ClientOwn == nil || s.ClientOwn.Of <= 0 {
			if s.OK > 0 {
				return 0, false
			}
			continue
		}
		percent, known = max(percent, s.ClientOwn.percent()), true
	}
	return percent, known
}
