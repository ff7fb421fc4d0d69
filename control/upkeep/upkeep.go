// Package upkeep compacts, defragments and copies a cluster during a load, and finds what
// that did to the latencies.
package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// Timeout bounds one piece of upkeep: a defragmentation of 8 GiB takes a minute or two.
const Timeout = 10 * time.Minute

// Runner does the upkeep of a cluster, one piece after the other.
type Runner struct {
	driver  database.Driver
	target  database.Target
	members int
	plan    config.Maintain
	event   func(results.Event)
	failed  error // the first that is not the load's end
	counts  map[string]int
}

// New returns the runner of a plan. Event is called with each piece when it has ended.
func New(driver database.Driver, t database.Target, plan config.Maintain, event func(results.Event)) *Runner {
	return &Runner{driver: driver, target: t, members: len(t.Endpoints), plan: plan, event: event, counts: map[string]int{}}
}

// job is one kind of upkeep.
type job struct {
	kind  string
	every time.Duration
	due   time.Time
	// do does it once, with an event for each member.
	do func(ctx context.Context)
}

// Run does what is due until ctx ends: each kind one interval after the start, and then one
// interval after it was last due. What is due while another piece runs comes after it.
func (r *Runner) Run(ctx context.Context) error {
	jobs := r.jobs(time.Now())
	for len(jobs) > 0 {
		next := jobs[0]
		for _, j := range jobs {
			if j.due.Before(next.due) {
				next = j
			}
		}
		timer := time.NewTimer(time.Until(next.due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		next.do(ctx)
		for next.due = next.due.Add(next.every); next.due.Before(time.Now()); {
			next.due = next.due.Add(next.every) // a piece that took longer than its interval
		}
	}
	return nil
}

// Failed returns the first error of a piece, nil if there is none. It is called after Run.
func (r *Runner) Failed() error { return r.failed }

// jobs returns the kinds of upkeep that the plan asks for and the driver can do.
func (r *Runner) jobs(start time.Time) []*job {
	var jobs []*job
	add := func(kind string, every time.Duration, can bool, do func(context.Context)) {
		if every > 0 && can {
			jobs = append(jobs, &job{kind: kind, every: every, due: start.Add(every), do: do})
		}
	}
	compacter, compacts := r.driver.(database.Compacter)
	defragmenter, defrags := r.driver.(database.Defragmenter)
	snapshotter, snapshots := r.driver.(database.Snapshotter)
	add(results.EventCompact, r.plan.Compact, compacts, func(ctx context.Context) {
		r.piece(ctx, results.EventCompact, -1, func(ctx context.Context) (int64, error) { return 0, compacter.Compact(ctx, r.target) })
	})
	add(results.EventDefrag, r.plan.Defrag, defrags, func(ctx context.Context) {
		for member := range r.members { // one at a time: the others serve
			r.piece(ctx, results.EventDefrag, member, func(ctx context.Context) (int64, error) {
				return 0, defragmenter.Defragment(ctx, r.target, member)
			})
		}
	})
	add(results.EventSnapshot, r.plan.Snapshot, snapshots, func(ctx context.Context) {
		member := r.counts[results.EventSnapshot] % r.members // each in turn
		r.piece(ctx, results.EventSnapshot, member, func(ctx context.Context) (int64, error) {
			return snapshotter.Snapshot(ctx, r.target, member)
		})
	})
	return jobs
}

// piece does one piece of upkeep and reports it.
func (r *Runner) piece(ctx context.Context, kind string, member int, do func(context.Context) (int64, error)) {
	if ctx.Err() != nil {
		return
	}
	r.counts[kind]++
	asked, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	e := results.Event{Time: time.Now().UTC(), Kind: kind, Member: member}
	size, err := do(asked)
	e.Took = time.Since(e.Time)
	if size > 0 {
		e.Amount, e.Unit = float64(size), "bytes"
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		e.Text = "the load ended meanwhile"
	default:
		e.Text = err.Error()
		if r.failed == nil {
			r.failed = fmt.Errorf("%s: %w", kind, err)
		}
	}
	r.event(e)
}
