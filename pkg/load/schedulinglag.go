package load

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/load/wakeup"
	"github.com/coreos/dbtester/pkg/results"
)

// schedulingLag samples how late a wait ends in this process. With processors to
// spare that is about a tenth of a millisecond; when clients wait for a processor,
// so does the sampling goroutine.
type schedulingLag struct {
	clock clock.Clock
	stops *stops.Stops

	mu  sync.Mutex // its own, so that a flush never delays a sample
	lag summary
}

// watch samples until ctx ends.
func (l *schedulingLag) watch(ctx context.Context, wake *wakeup.Wakeup) {
	timer := time.NewTimer(stops.Every)
	defer timer.Stop()
	since := l.clock.Now()
	due := since + int64(stops.Every)
	l.stops.Beat(since, since, due)
	defer func() { l.stops.Beat(since, l.clock.Now(), stops.Never) }()
	for {
		wake.Add(due)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := l.clock.Now()
		wake.Next()
		l.add(max(now-due, 0))
		next := l.clock.Now() + int64(stops.Every)
		l.stops.Beat(since, now, next)
		since, due = now, next
		timer.Reset(stops.Every)
	}
}

func (l *schedulingLag) add(ns int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lag.add(ns)
}

func (l *schedulingLag) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lag.reset()
}

func (l *schedulingLag) allocate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lag.allocate()
}

func (l *schedulingLag) spread() results.Spread {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lag.spread()
}
