package load

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
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

// watch samples until ctx ends, where no alarms do.
func (l *schedulingLag) watch(ctx context.Context) {
	timer := time.NewTimer(stops.Every)
	defer timer.Stop()
	w := l.begin()
	defer w.end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		w.beat()
		timer.Reset(stops.Every)
	}
}

// watchdog takes the samples, and shows that the process runs.
type watchdog struct {
	lag        *schedulingLag
	since, due int64
}

// begin returns a watchdog whose first beat is due.
func (l *schedulingLag) begin() *watchdog {
	now := l.clock.Now()
	w := &watchdog{lag: l, since: now, due: now + int64(stops.Every)}
	l.stops.Beat(now, now, w.due)
	return w
}

// beat takes a sample and returns when the next one is due.
func (w *watchdog) beat() (next int64) {
	now := w.lag.clock.Now()
	w.lag.add(max(now-w.due, 0))
	next = w.lag.clock.Now() + int64(stops.Every)
	w.lag.stops.Beat(w.since, now, next)
	w.since, w.due = now, next
	return next
}

// end is called when no more beats come.
func (w *watchdog) end() { w.lag.stops.Beat(w.since, w.lag.clock.Now(), stops.Never) }

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
