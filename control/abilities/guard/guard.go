// Package guard ends loads that pass a bound on a cluster shared with others.
package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/guard"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// errPassed is why the guard ended the load.
var errPassed = errors.New("the guard ended the load")

// Half ends the load at a bound. It is safe for concurrent use after Bound.
type Half struct {
	run    *abilities.Run
	bounds guard.Bounds
	end    func(cause error)

	mu     sync.Mutex
	reason string        // the first; "" before
	silent time.Duration // the time in which no request was answered
	flying bool          // requests were in flight when the last second ended
}

var (
	_ abilities.Activity = (*Half)(nil)
	_ abilities.Bounder  = (*Half)(nil)
)

// New returns the guard for r. It has no bounds unless the file gives some.
func New(r *abilities.Run) *Half {
	return &Half{run: r, bounds: guard.Keys().Of(r.DB.Abilities)}
}

// Bounded reports whether there is a bound.
func (h *Half) Bounded() bool { return h.bounds.Any() }

// Bound sets the function that ends the load.
func (h *Half) Bound(end func(cause error)) { h.end = end }

// Longest returns the bound on p99, or the longest duration if only failures are bounded.
func (h *Half) Longest() time.Duration {
	if h.bounds.P99 == 0 && h.bounds.Errors != nil {
		return math.MaxInt64
	}
	return h.bounds.P99
}

// See receives the progress in each second.
func (h *Half) See(p load.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case p.Ended > 0:
		h.silent = 0
	case h.flying: // since before this second
		h.silent += time.Second
	}
	h.flying = p.InFlight > 0
	if most := h.bounds.P99; most > 0 {
		switch {
		case p.P99 > most:
			h.pass("a second's p99 was %v, the bound is %v", p.P99.Round(10*time.Microsecond), most)
		case h.silent > most:
			h.pass("no request was answered for %v, the bound of p99 is %v", h.silent, most)
		}
	}
	if most := h.bounds.Errors; most != nil && p.Ended > 0 {
		if share := 100 * float64(p.Faulty) / float64(p.Ended); share > float64(*most) {
			h.pass("%d of the %d requests of a second failed or have an unknown outcome (%.3g%%), the bound is %v", p.Faulty, p.Ended, share, *most)
		}
	}
}

// Passed marks the run if the load passed a bound, and returns why the load ended.
func (h *Half) Passed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason == "" {
		return nil
	}
	h.run.Mark(mark.Guard, nil, mark.Words{"reason": h.reason})
	return errPassed
}

// Name implements [abilities.Activity].
func (h *Half) Name() string { return "watch the size of the store" }

// Run compares the store size with its bound each second until ctx ends. An unknown size for half a
// minute passes the bound too. Without a bound it returns at once.
func (h *Half) Run(ctx context.Context) error {
	reporter, ok := h.run.Driver.(database.FillReporter)
	if !ok || h.bounds.DBSize == nil {
		return nil
	}
	const unknownFor = 30 * time.Second
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for known := time.Now(); ; {
		asked, cancel := context.WithTimeout(ctx, 2*time.Second)
		size, limit, err := reporter.Fill(asked, *h.run.Target)
		cancel()
		switch {
		case err == nil:
			known = time.Now()
			h.seeSize(size, limit)
		case time.Since(known) > unknownFor && ctx.Err() == nil:
			h.mu.Lock()
			h.pass("the size of the store was not known for %v: %v", unknownFor, err)
			h.mu.Unlock()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (h *Half) seeSize(size, limit int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if share := 100 * float64(size) / float64(limit); share > float64(*h.bounds.DBSize) {
		h.pass("a store has %d of at most %d bytes (%.3g%%), the bound is %v", size, limit, share, *h.bounds.DBSize)
	}
}

// pass ends the load. The half is locked.
func (h *Half) pass(format string, args ...any) {
	if h.reason != "" {
		return
	}
	h.reason = fmt.Sprintf(format, args...)
	h.run.Event(results.Event{Time: time.Now().UTC(), Kind: guard.Event, Member: -1, Text: h.reason})
	h.run.Say("the guard ends the load: %s", h.reason)
	h.end(errPassed)
}
