package faults

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results/recovery"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

func newFollow(l workload.Load) *follow {
	f := &follow{live: recovery.NewLive(l)}
	for _, s := range l.Stretches() {
		f.length += s.Duration
	}
	return f
}

// See receives the progress in one second.
func (r *Runner) See(p load.Progress) {
	if r.follow != nil {
		r.follow.live.See(p.Step.Index, p.Step.Start, p.Ticks)
	}
}

// waiting applies faults bout by bout. Each bout begins no sooner than planned after the previous
// one, and no sooner than the load has recovered from it. A repeat that would not be over before
// the load's end is skipped, and so are those after it.
func (r *Runner) waiting(ctx context.Context) {
	f, start := r.follow, time.Now()
	begun, over := start, start // when the current repeat began, without its jitter, and when the last bout was over
	var last []faults.Due       // bout
	for n := range r.repeat.Times {
		r.missing = r.repeat.Times - n
		if n > 0 {
			if !f.live.Await(ctx, over) || !r.failBack(ctx, last) {
				return
			}
			r.run.Step("the load has recovered: repeat %d of %d of the faults", n+1, r.repeat.Times)
			if begun = begun.Add(r.repeat.Every); begun.Before(time.Now()) {
				begun = time.Now()
			}
		}
		plan := r.planOf(n)
		base := begun.Add(-time.Duration(n) * r.repeat.Every) // the time after which faults are due
		for i, bout := range faults.Bouts(plan, len(r.run.Record.Members)) {
			if i > 0 {
				if !f.live.Await(ctx, over) || !r.failBack(ctx, last) {
					return
				}
				base = base.Add(max(time.Since(base.Add(bout[0].After)), 0))
			}
			if f.length > 0 && base.Sub(start)+r.end(plan) > f.length || !sleep.For(ctx, time.Until(base.Add(bout[0].After))) {
				return
			}
			f.live.Begin(time.Now())
			if !r.repeats(ctx, base, bout) {
				return
			}
			over, last = time.Now(), bout
		}
	}
	r.missing = 0
}

// planOf returns the faults in a repeat.
func (r *Runner) planOf(repeat int) []faults.Due {
	n := len(r.plan) / r.repeat.Times
	return r.plan[repeat*n : (repeat+1)*n]
}

// end returns when the last fault in a plan should be over.
func (r *Runner) end(plan []faults.Due) (end time.Duration) {
	for _, d := range plan {
		end = max(end, d.After+d.Lasts(len(r.run.Record.Members)))
	}
	return end
}
