package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// An agent and a generator get a heartbeat each HeartbeatEvery, which must be answered within
// HeartbeatTimeout.
const (
	HeartbeatEvery   = time.Second
	HeartbeatTimeout = 5 * HeartbeatEvery
)

// heartbeatsMissed is how many heartbeats in a row must fail for the other side to be lost.
const heartbeatsMissed = 3

// Misses counts heartbeats in a row that failed. The zero value has none.
type Misses struct{ n int }

// Count counts a heartbeat by its error, nil if it was answered. It returns nil, or why the
// other side is lost: from the third heartbeat in a row on that failed.
func (m *Misses) Count(err error) error {
	if err == nil {
		m.n = 0
		return nil
	}
	if m.n++; m.n < heartbeatsMissed {
		return nil
	}
	return fmt.Errorf("%d heartbeats in a row failed: %w", m.n, err)
}

// Keep keeps a session with another process: it sends heartbeats each HeartbeatEvery, and when
// nudge has one, until ctx ends. It calls lost with why the other side is lost, again and again
// while heartbeats fail. A heartbeat that ctx interrupted is not counted.
func Keep(ctx context.Context, nudge <-chan struct{}, heartbeat func(context.Context) error, lost func(why error)) {
	ticker := time.NewTicker(HeartbeatEvery)
	defer ticker.Stop()
	var missed Misses
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-nudge:
		}
		err := heartbeat(ctx)
		if ctx.Err() != nil {
			return
		}
		if why := missed.Count(err); why != nil {
			lost(why)
		}
	}
}

// ClockOf is the record of another process's clock by the exchanges with it; N is 0 without any.
func ClockOf(e *clocks.Estimate) results.Clock {
	best := e.Best()
	return results.Clock{Offset: time.Duration(best.OffsetNS), Error: time.Duration(best.ErrorNS), N: e.N(), Moved: e.Moved(), Furthest: e.Furthest()}
}
