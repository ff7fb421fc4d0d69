package load

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// lagEvery is how often the process's scheduling lag is sampled.
const lagEvery = 10 * time.Millisecond

// watchLag samples until ctx ends how late a wait is over in this process. On a
// machine with processors to spare that is about a tenth of a millisecond; when
// clients wait for a processor, so does this goroutine.
func (r *Recorder) watchLag(ctx context.Context, alarm *alarm) {
	timer := time.NewTimer(lagEvery)
	defer timer.Stop()
	due := r.now() + int64(lagEvery)
	for {
		alarm.add(due)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := r.now()
		alarm.next()
		r.lagMu.Lock()
		r.lag.add(max(now-due, 0))
		r.lagMu.Unlock()
		due = r.now() + int64(lagEvery)
		timer.Reset(lagEvery)
	}
}

// SchedulingLag is how late timers fired in this process during all steps.
func (r *Recorder) SchedulingLag() results.Spread {
	r.lagMu.Lock()
	defer r.lagMu.Unlock()
	return r.lag.spread()
}

// Lateness is how long after their due time requests were sent by clients that
// had waited for it, over all steps with a rate.
func (r *Recorder) Lateness() results.Spread {
	var all summary
	for _, s := range r.shards {
		s.mu.Lock()
		all.merge(&s.late)
		s.mu.Unlock()
	}
	return all.spread()
}

func (s *summary) spread() results.Spread {
	if s.latency.Count == 0 {
		return results.Spread{}
	}
	at := func(q float64) int64 { return s.latency.Quantile(s.histogram, q) }
	return results.Spread{N: s.latency.Count, P50: at(0.50), P99: at(0.99), P999: at(0.999), Max: s.latency.MaxNS}
}
