// Package upkeep compacts, defragments and copies the cluster during a load, and measures the
// effect on latencies.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// timeout bounds one piece of upkeep: defragmenting 8 GiB takes a minute or two.
const timeout = 10 * time.Minute

// Runner does upkeep, one piece at a time.
type Runner struct {
	run    *abilities.Run
	plan   upkeep.Plan
	failed error // the first error besides the end of the load
	// failures counts the pieces that failed.
	failures int
	counts   map[string]int
	// marked is set once a compaction between two search windows has failed.
	marked bool
}

// New returns the upkeep for r.
func New(r *abilities.Run) *Runner {
	return &Runner{run: r, plan: upkeep.Keys().Of(r.DB.Abilities), counts: map[string]int{}}
}

// Name implements [abilities.Activity].
func (r *Runner) Name() string { return "keep up the cluster" }

// Describe lists each kind and its interval.
func (r *Runner) Describe() []string {
	var parts []string
	for _, k := range upkeep.Kinds() {
		if every := *k.At(&r.plan); every > 0 {
			parts = append(parts, fmt.Sprintf("%s every %v", k.Event, every))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"upkeep: " + strings.Join(parts, ", ")}
}

// job is one kind of upkeep.
type job struct {
	every time.Duration
	due   time.Time
	// do runs it once, with an event for each member.
	do func(ctx context.Context)
}

// Run runs upkeep when it is due until ctx ends: each kind one interval after the start, and then
// one interval after it was last due. Upkeep that falls due while another piece runs comes after
// it. Upkeep due when the load ends, or later, is skipped, because no request would be affected.
func (r *Runner) Run(ctx context.Context) error {
	began := time.Now()
	jobs, length := r.jobs(began), r.length()
	for len(jobs) > 0 {
		next := jobs[0]
		for _, j := range jobs {
			if j.due.Before(next.due) {
				next = j
			}
		}
		if length > 0 && next.due.Sub(began) > length-atEnd {
			return nil
		}
		if !sleep.For(ctx, time.Until(next.due)) {
			return nil
		}
		next.do(ctx)
		for next.due = next.due.Add(next.every); next.due.Before(time.Now()); {
			next.due = next.due.Add(next.every) // the piece took longer than its interval
		}
	}
	return nil
}

// atEnd is the time before the end of the load in which no upkeep begins.
const atEnd = time.Second

// length returns the planned duration of the load, 0 if no time bounds it.
func (r *Runner) length() time.Duration {
	if r.run.Experiment.Search() != nil {
		return 0 // it has as many windows as it needs
	}
	return r.run.DB.Load.Duration
}

// Record marks the run if upkeep failed.
func (r *Runner) Record() {
	if r.failed != nil {
		pieces := 0
		for _, n := range r.counts {
			pieces += n
		}
		r.run.Mark(mark.Upkeep, mark.Values{"failed": float64(r.failures), "operations": float64(pieces)}, mark.Words{"why": plaintext.Joined(r.failed.Error())})
	}
}

// Between compacts the cluster after each window, if the cluster belongs to the run, to keep the
// store as small as it was. Failures are a mark.
func (r *Runner) Between(ctx context.Context) {
	compacter, ok := r.run.Driver.(database.Compacter)
	l := r.run.DB.Load
	writes := l.Any(workload.Op.SendsValue) || l.Any(workload.Op.Deletes)
	if !ok || !writes || len(r.run.DB.Endpoints) > 0 || r.plan.Compact > 0 {
		return
	}
	e, err := r.once(ctx, upkeep.EventCompact, -1, func(ctx context.Context) (int64, error) { return 0, compacter.Compact(ctx, *r.run.Target) })
	if err != nil {
		e.Text = err.Error()
	}
	r.run.Event(e)
	if err != nil && ctx.Err() == nil && !r.marked {
		r.marked = true
		r.run.Mark(mark.Upkeep, nil, mark.Words{"when": "between two windows", "why": plaintext.Joined(err.Error())})
	}
}

// Finish records the effect of upkeep on latency.
func (r *Runner) Finish() error {
	effects, err := effect.Around(r.run.Dir, r.run.Record, upkeep.Events()...)
	if err != nil {
		return fmt.Errorf("compare latencies with the upkeep: %w", err)
	}
	return errors.Join(upkeep.Record().Set(&r.run.Record.Records, effects), r.observe())
}

// observe records the pieces that succeeded during the load, from their events.
func (r *Runner) observe() error {
	events, err := results.ReadEvents(filepath.Join(r.run.Dir, results.FileEvents), len(r.run.Record.Members))
	if err != nil {
		return err
	}
	seen := observation.NewRecorder(upkeep.Observed())
	for _, e := range events {
		i := slices.IndexFunc(upkeep.Kinds(), func(k upkeep.Kind) bool { return k.Event == e.Kind })
		if i < 0 || e.Text != "" || e.Time.Before(r.run.Record.LoadStart) {
			continue
		}
		step := r.run.StepAt(e.Time)
		seen.Add(upkeep.Kinds()[i].Key, e.Time, step, int64(e.Took))
		if e.Unit == "bytes" {
			seen.Add(upkeep.SnapshotBytes, e.Time, step, int64(e.Amount))
		}
	}
	return r.run.Observe(upkeep.Observed(), seen.Take(math.MaxInt64))
}

// jobs returns the upkeep kinds that the plan asks for and the driver can do.
func (r *Runner) jobs(start time.Time) []*job {
	var jobs []*job
	add := func(every time.Duration, can bool, do func(context.Context)) {
		if every > 0 && can {
			jobs = append(jobs, &job{every: every, due: start.Add(every), do: do})
		}
	}
	compacter, compacts := r.run.Driver.(database.Compacter)
	defragmenter, defrags := r.run.Driver.(database.Defragmenter)
	snapshotter, snapshots := r.run.Driver.(database.Snapshotter)
	add(r.plan.Compact, compacts, func(ctx context.Context) {
		r.piece(ctx, upkeep.EventCompact, -1, func(ctx context.Context) (int64, error) { return 0, compacter.Compact(ctx, *r.run.Target) })
	})
	add(r.plan.Defrag, defrags, func(ctx context.Context) {
		for member := range len(r.run.Target.Endpoints) { // one at a time: the others serve
			r.piece(ctx, upkeep.EventDefrag, member, func(ctx context.Context) (int64, error) {
				return 0, defragmenter.Defragment(ctx, *r.run.Target, member)
			})
		}
	})
	add(r.plan.Snapshot, snapshots, func(ctx context.Context) {
		member := r.counts[upkeep.EventSnapshot] % len(r.run.Target.Endpoints) // each in turn
		r.piece(ctx, upkeep.EventSnapshot, member, func(ctx context.Context) (int64, error) {
			return snapshotter.Snapshot(ctx, *r.run.Target, member)
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
	e, err := r.once(ctx, kind, member, do)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		e.Text = "the load ended meanwhile"
	default:
		e.Text = err.Error()
		if r.failures++; r.failed == nil {
			r.failed = fmt.Errorf("%s: %w", kind, err)
		}
	}
	r.run.Event(e)
	r.run.Step("%s", strings.TrimSuffix(fmt.Sprintf("%s took %v: %s", e.Kind, e.Took.Round(time.Millisecond), e.Text), ": "))
}

// once does one piece of upkeep in its time, and returns its event.
func (r *Runner) once(ctx context.Context, kind string, member int, do func(context.Context) (int64, error)) (e results.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	e = results.Event{Time: time.Now().UTC(), Kind: kind, Member: member}
	size, err := do(ctx)
	e.Took = time.Since(e.Time)
	if size > 0 {
		e.Amount, e.Unit = float64(size), "bytes"
	}
	return e, err
}
