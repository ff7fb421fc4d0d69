// Package shared is how a load behaves on a cluster that others use: it keeps below a
// prefix, removes its keys in bounded batches, and ends at the bounds of a guard.
package shared

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/load"
)

// ErrGuard is the cause of the end of a load that passed a bound.
var ErrGuard = errors.New("the guard ended the load")

// Guard ends a load that passes a bound. Its methods are safe for concurrent use. A nil
// Guard has no bounds.
type Guard struct {
	limits config.Guard
	trip   func(reason string)

	mu     sync.Mutex
	reason string        // the first; "" before
	silent time.Duration // for which nothing was answered
	flying bool          // requests were in flight at the end of the last second
}

// NewGuard returns a guard, nil without limits. It calls trip once, with the bound that
// was passed; trip must not call the guard.
func NewGuard(limits *config.Guard, trip func(reason string)) *Guard {
	if limits == nil {
		return nil
	}
	return &Guard{limits: *limits, trip: trip}
}

// Reason returns the bound that was passed, "" if none was.
func (g *Guard) Reason() string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason
}

// See takes the progress of each second.
func (g *Guard) See(p load.Progress) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.Ended > 0:
		g.silent = 0
	case g.flying: // since before this second
		g.silent += time.Second
	}
	g.flying = p.InFlight > 0
	if most := g.limits.P99; most > 0 {
		switch {
		case p.P99 > most:
			g.pass("a second's p99 was %v, the bound is %v", p.P99.Round(10*time.Microsecond), most)
		case g.silent > most:
			g.pass("no request was answered for %v, the bound of p99 is %v", g.silent, most)
		}
	}
	if most := g.limits.Errors; most != nil && p.Ended > 0 {
		if share := 100 * float64(p.Faulty) / float64(p.Ended); share > float64(*most) {
			g.pass("%d of the %d requests of a second failed or have an unknown outcome (%.3g%%), the bound is %v", p.Faulty, p.Ended, share, *most)
		}
	}
}

// WatchSize compares the size of the store with its bound each second until ctx ends. A
// size that is not known for half a minute passes the bound too. Without a bound it
// returns at once.
func (g *Guard) WatchSize(ctx context.Context, size func(context.Context) (size, limit int64, err error)) {
	if g == nil || g.limits.DBSize == nil {
		return
	}
	const unknownFor = 30 * time.Second
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for known := time.Now(); ; {
		asked, cancel := context.WithTimeout(ctx, 2*time.Second)
		is, limit, err := size(asked)
		cancel()
		switch {
		case err == nil:
			known = time.Now()
			g.seeSize(is, limit)
		case time.Since(known) > unknownFor && ctx.Err() == nil:
			g.mu.Lock()
			g.pass("the size of the store was not known for %v: %v", unknownFor, err)
			g.mu.Unlock()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (g *Guard) seeSize(size, limit int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if share := 100 * float64(size) / float64(limit); share > float64(*g.limits.DBSize) {
		g.pass("a store has %d of at most %d bytes (%.3g%%), the bound is %v", size, limit, share, *g.limits.DBSize)
	}
}

// pass trips the guard. The guard is locked.
func (g *Guard) pass(format string, args ...any) {
	if g.reason != "" {
		return
	}
	g.reason = fmt.Sprintf(format, args...)
	g.trip(g.reason)
}
