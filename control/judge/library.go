package judge

import (
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// library marks clients that are libraries. Requests and answers queue inside them where no timer
// sees them, so the recorded client delay misses that time. The self-check, if there was one, shows
// how much it is. The mark is a doubt and never makes a run invalid.
func (v *verdict) library() {
	if v.e.Library == "" {
		return
	}
	words := mark.Words{"library": v.e.Library}
	c := v.worstCheck()
	if c == nil {
		v.mark(mark.Library, false, nil, words)
		return
	}
	added, mean := time.Duration(c.P50.Added()), v.fastest()
	if added <= 0 {
		return
	}
	values := mark.Values{"added_p50_seconds": added.Seconds(), "added_p99_seconds": time.Duration(c.P99.Added()).Seconds()}
	if mean > 0 {
		percent := 100 * added.Seconds() / mean.Seconds()
		if percent <= float64(v.bounds().ClientDelay.Mark) {
			return
		}
		values["mean_seconds"], values["added_percent"] = mean.Seconds(), percent
	}
	v.mark(mark.Library, false, values, words)
}

// worstCheck returns the self-check of the client that adds the most; nil unless all clients have a
// self-check.
func (v *verdict) worstCheck() (worst *results.LoadCheck) {
	for _, c := range v.e.Clients {
		switch check := c.SelfCheck; {
		case check == nil || check.Unavailable != "":
			return nil
		case worst == nil || check.P50.Added() > worst.P50.Added():
			worst = check
		}
	}
	return worst
}

// fastest returns the least mean response time of any step; 0 if nothing ended ok.
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
