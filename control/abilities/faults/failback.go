package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// settle is the time that a load runs after its connections failed back, before the next fault.
const settle = time.Second

// failsBack reports whether connections fail over, so that each fault begins with the load spread
// over the members only if they fail back.
func (r *Runner) failsBack() bool { return r.run.DB.Load.Failover == workload.FailoverNext }

// planned applies faults when they are due. Between two bouts, connections fail back as soon as the
// load has recovered, if it has in time.
func (r *Runner) planned(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	start := time.Now()
	bouts := faults.Bouts(r.plan, len(r.run.Record.Members))
	for i, bout := range bouts {
		if !sleep.For(ctx, time.Until(start.Add(bout[0].After))) {
			return
		}
		r.follow.live.Begin(time.Now())
		wg.Go(func() {
			if !r.repeats(ctx, start, bout) || i+1 == len(bouts) {
				return
			}
			soon, cancel := context.WithDeadline(ctx, start.Add(bouts[i+1][0].After-2*settle))
			defer cancel()
			if r.follow.live.Await(soon, time.Now()) {
				r.failBack(soon, bout)
			}
		})
	}
}

// failBack has connections fail back after a bout that the load has recovered from, and records
// their number in its faults. It returns false if ctx ended before the load could settle.
func (r *Runner) failBack(ctx context.Context, bout []faults.Due) bool {
	if !r.failsBack() {
		return true
	}
	back, err := r.run.FailBack(ctx)
	text := fmt.Sprintf("%d connections went back to their first members", back.Returned)
	if back.Away > 0 {
		text += fmt.Sprintf(", %d could not", back.Away)
	}
	if err != nil {
		text += ": " + oneLine(err)
	}
	r.run.Step("%s", text)
	r.run.Event(results.Event{Time: time.Now().UTC(), Kind: faults.EventFailBack, Member: -1, Text: text})
	r.mu.Lock()
	for i := range r.happened {
		h := &r.happened[i]
		if slices.ContainsFunc(bout, func(d faults.Due) bool { return d.Number == h.Number && d.Repeat == h.Repeat }) {
			h.Returned, h.Away = &back.Returned, back.Away
		}
	}
	r.mu.Unlock()
	return sleep.For(ctx, settle)
}
