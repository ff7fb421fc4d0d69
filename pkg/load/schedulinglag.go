package load

import (
	"context"
	"sync"

	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results"
)

// schedulingLag samples how late waits end in this process. With spare processors a wait ends about
// a tenth of a millisecond late; when clients wait for a processor, so does the sampling goroutine.
type schedulingLag struct {
	stops *stops.Stops

	mu  sync.Mutex // its own, so that a flush never delays a sample
	lag summary
}

// watch samples until ctx ends, where no alarms do.
func (l *schedulingLag) watch(ctx context.Context) { l.stops.Watch(ctx, l.add) }

// watchdog takes the samples, and shows that the process runs.
type watchdog struct {
	*stops.Watchdog
	lag *schedulingLag
}

// begin returns a watchdog whose first beat is due.
func (l *schedulingLag) begin() *watchdog { return &watchdog{l.stops.Watchdog(), l} }

// beat takes a sample and returns when the next one is due.
func (w *watchdog) beat() (next int64) {
	late, next := w.Beat()
	w.lag.add(late)
	return next
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
