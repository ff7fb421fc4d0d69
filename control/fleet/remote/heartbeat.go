package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Agents and generators get a heartbeat every HeartbeatEvery. They must answer within
// HeartbeatTimeout.
const (
	HeartbeatEvery   = time.Second
	HeartbeatTimeout = 5 * HeartbeatEvery
)

// heartbeatsMissed is the number of heartbeats that must fail in a row before the other side is
// lost.
const heartbeatsMissed = 3

// Misses counts the failed heartbeats in a row. The zero value counts 0.
type Misses struct{ n int }

// Count counts a heartbeat by its error, nil if it was answered. It returns nil, or why the other
// side is lost: from the third failed heartbeat in a row on.
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

// Keep keeps a session with another process until ctx ends: it sends a heartbeat every
// HeartbeatEvery and on each nudge. It calls lost with why the other side is lost, repeatedly
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

// ClockOf returns the clock record for the exchanges in e; N is 0 without any.
func ClockOf(e *clocks.Estimate) results.Clock {
	best := e.Best()
	return results.Clock{Offset: time.Duration(best.OffsetNS), Error: time.Duration(best.ErrorNS), N: e.N(), Moved: e.Moved(), Furthest: e.Furthest()}
}
