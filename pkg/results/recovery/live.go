package recovery

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Live follows a load while it runs, and waits until the load has recovered by the rule in
// [Timeline.Of]. It is safe for concurrent use.
type Live struct {
	warmUp time.Duration

	mu       sync.Mutex
	timeline Timeline
	more     chan struct{} // closed when more ticks have come
	// is is the disturbance from which the load has not recovered, and before the recovery from
	// the previous one; nil without one.
	is     *Disturbance
	before *Recovery
}

// NewLive returns a Live that has seen no ticks yet.
func NewLive(l workload.Load) *Live {
	return &Live{warmUp: l.WarmUp, timeline: Timeline{rated: l.Rated()}, more: make(chan struct{})}
}

// See takes the next ticks from a step that began at start.
func (l *Live) See(step int, start time.Time, rows []results.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timeline.add(rows, part{step: step, start: start.UnixNano(), from: start.Add(l.warmUp).UnixNano(), to: math.MaxInt64})
	l.forget()
	close(l.more)
	l.more = make(chan struct{})
}

// forget removes ticks no longer needed for a level.
func (l *Live) forget() {
	t := &l.timeline
	if len(t.ticks) == 0 {
		return
	}
	since := t.ticks[len(t.ticks)-1].from
	if l.is != nil {
		since = min(since, l.is.From.UnixNano())
	}
	if t.ticks = slices.Delete(t.ticks, 0, t.since(since-2*int64(before))); len(t.ticks) > 0 {
		t.ticks[0].more = t.ticks[0].pending
	}
}

// Begin notes that a disturbance begins.
func (l *Live) Begin(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.is = &Disturbance{From: at, Before: l.before}
	if l.before != nil {
		l.is.Since = l.before.Until
	}
}

// Await waits until the load has recovered from the latest disturbance, which ended at over. It
// returns false if ctx ended first.
func (l *Live) Await(ctx context.Context, over time.Time) bool {
	for {
		is, more := l.recovered(over)
		if is {
			return true
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// recovered reports whether the load has recovered. It also returns a channel, closed when that
// may have changed.
func (l *Live) recovered(over time.Time) (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.is == nil {
		return true, l.more
	}
	d := *l.is
	d.To = over
	if d.Before == nil && l.timeline.before(d).length < least { // nothing to compare with
		d.Before = &Recovery{Pending: math.MaxInt64}
	}
	r := l.timeline.Of(d)
	if r == nil || !r.Recovered {
		return false, l.more
	}
	l.is, l.before = nil, r
	return true, l.more
}
