package judge

import (
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// library marks a client that is a library. Requests and answers queue inside it where no
// timer sees them, so the client's own delay misses that. How much it is shows the
// self-check of the load, if there was one. It is a doubt and never makes a run invalid.
func (v *verdict) library() {
	if v.e.Library == "" {
		return
	}
	const what = "requests may queue in the client's library (%s), where no timer sees them"
	c := v.e.Run.SelfCheck
	if c == nil || c.Unavailable != "" {
		v.mark(results.MarkLibrary, false, what+": how long is not known, and control --selfcheck auto measures it", v.e.Library)
		return
	}
	added, mean := time.Duration(c.P50.Added()), v.fastest()
	if added <= 0 || mean > 0 && 100*added.Seconds()/mean.Seconds() <= float64(v.bounds().ClientDelay.Mark) {
		return
	}
	v.mark(results.MarkLibrary, false, what+": in the self-check this client added %v at p50 and %v at p99, beside a mean response time of %v in this load",
		v.e.Library, rounded(added), rounded(time.Duration(c.P99.Added())), rounded(mean))
}

// fastest is the least mean response time of a step; 0 if nothing ended ok.
func (v *verdict) fastest() (least time.Duration) {
	for _, s := range v.e.Steps {
		if s.OK == 0 || s.ClientDelay == nil {
			continue
		}
		if mean := s.ClientDelay.Of / time.Duration(s.OK); least == 0 || mean < least {
			least = mean
		}
	}
	return least
}
