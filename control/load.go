package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/backoff"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/results"
)

// loader applies the load of a run.
type loader struct {
	run    *run
	fleet  *fleet.Fleet
	dialer *dialer
	leader *leaderWatch
	// bounders end the load at their bounds.
	bounders []abilities.Bounder
	// issue issues the requests.
	issue *issue.Set
	// selfCheck makes generators measure the latencies that they add to their parts.
	selfCheck bool
	// save writes the manifest.
	save func() error
	// counted shows counts, which count the load after show; nil discards them.
	counted func(*exposition.Part)
	counts  *exposition.Part
}

// duringLoad returns the activities that run while requests are sent: from the first request of the
// first step to the last request of the last step.
func (l *loader) duringLoad() []abilities.Activity {
	var list []abilities.Activity
	for _, half := range l.run.halves {
		if a, ok := half.(abilities.Activity); ok {
			list = append(list, a)
		}
	}
	return list
}

// bounders returns the halves whose bounds can end the load.
func (r *run) bounders() (list []abilities.Bounder) {
	for _, half := range r.halves {
		if b, ok := half.(abilities.Bounder); ok && b.Bounded() {
			list = append(list, b)
		}
	}
	return list
}

// do applies the load until it is over or passes a bound.
func (l *loader) do(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	l.bounders = l.run.bounders()
	for _, b := range l.bounders {
		b.Bound(end)
	}
	err := l.apply(ctx)
	for _, b := range l.bounders {
		if cause := b.Passed(); cause != nil {
			err = load.Without(err, cause)
		}
	}
	return err
}

// see shows the progress in one second to all halves that want it.
func (l *loader) see(p load.Progress) {
	for _, half := range l.run.halves {
		if s, ok := half.(abilities.Seer); ok {
			s.See(p)
		}
	}
}

// apply counts the keys, runs every step of the load, and counts the keys again.
func (l *loader) apply(ctx context.Context) (err error) {
	// A control that is killed during the load leaves the versions and hosts on record.
	if err := l.save(); err != nil {
		return err
	}
	spec := l.spec()
	l.run.record.Load.FirstKey = spec.FirstKey
	if err := numberKeys(ctx, l.run, &spec); err != nil {
		return err
	}
	if err := l.run.coverCreated(ctx, spec); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, l.issue.Close(context.WithoutCancel(ctx)))
		l.run.noteSessions(l.issue.Sessions())
	}()
	if err := l.prepare(ctx, spec); err != nil {
		return err
	}
	if err := l.preload(ctx); err != nil {
		return err
	}
	if err := countBefore(ctx, l.run); err != nil {
		return err
	}
	out, send, err := l.sender()
	if err != nil {
		return err
	}
	out = l.show(spec, out)
	if err := l.issue.Begin(out, l.reportProgress); err != nil {
		return errors.Join(err, out.Close())
	}
	l.leader.recordFirst()
	l.run.journal.event("load start", -1, "")
	l.run.record.Backoff = &results.Backoff{
		FirstNS: int64(backoff.First), LongestNS: int64(backoff.Longest), Jitter: backoff.Jitter, OvertakeNS: int64(backoff.Overtake),
	}
	err = send(ctx)
	l.run.journal.event("load end", -1, "")
	c, unmerged := l.issue.End()
	issued := abilities.Issued{Resent: c.Resent, Waits: c.Waits}
	for _, b := range l.bounders {
		if n := b.Longest(); n > 0 && (issued.Longest == 0 || n < issued.Longest) {
			issued.Longest = n
		}
	}
	if l.issue.Remote() {
		issued.Judge, issued.ClockError = l.judge, l.issue.ClockError()
	}
	for _, half := range l.run.halves {
		if e, ok := half.(abilities.Ender); ok {
			e.End(ctx, issued)
		}
	}
	err = errors.Join(err, l.sweepLocks(ctx))
	l.run.record.Generators = l.issue.Records()
	if len(l.run.record.Steps) > 0 {
		l.count(ctx, c)
	}
	return errors.Join(err, unmerged, out.Close())
}

// count records the counts.
func (l *loader) count(ctx context.Context, c issue.Counts) {
	r := l.run.record
	r.Totals = &c.Totals
	if own := c.Own; own != nil {
		r.SchedulingLag, r.Lateness, r.Stops = own.SchedulingLag.OrNil(), own.Lateness.OrNil(), &own.Stops
	}
	l.run.noteStops()
	for _, half := range l.run.halves {
		if left, ok := half.(abilities.Leaver); ok {
			c.Perhaps += left.Left()
		}
	}
	countAfter(ctx, l.run, c)
}

// sender returns the sink for the records, and the function that sends the requests: the steps of
// the load, or the requests of a half that replaces them.
func (l *loader) sender() (abilities.Sink, func(context.Context) error, error) {
	if s := l.run.sender(); s != nil {
		out, err := s.Open()
		return out, l.withActivities(func(ctx context.Context, beside *during) error {
			return s.Send(ctx, &sending{loader: l, beside: beside})
		}), err
	}
	files, err := load.NewFiles(l.run.dir, time.Now())
	return files, l.withActivities(l.steps), err
}

// withActivities returns a function that sends requests, and stops the other activities after the
// last.
func (l *loader) withActivities(send func(context.Context, *during) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		beside := during{activities: l.duringLoad()}
		if err := beside.prepare(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, beside.stop()) }()
		return send(ctx, &beside)
	}
}

// steps runs the steps one after the other, each on new connections.
func (l *loader) steps(ctx context.Context, beside *during) error {
	for i, stretch := range l.run.db.Load.Stretches() {
		s := load.Step{Index: i, Step: stretch}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		res, err := l.issue.Step(ctx, issue.Step{Step: s, Members: l.dialer.targets, Begin: func() {
			l.announce(s)
			beside.start(ctx)
		}})
		l.run.record.Generators = l.issue.Records()
		l.recordStep(s, res)
		if errors.Is(err, load.ErrMembersGone) && ctx.Err() == nil {
			return load.Without(err, load.ErrMembersGone) // lost servers are marks, and the rest is recorded
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// announce notes a step whose connections are open.
func (l *loader) announce(s load.Step) {
	l.fleet.SetClients(s.Clients)
	l.run.journal.event("client step", -1, fmt.Sprintf("%d clients, %d connections", s.Clients, s.Connections))
}

func (l *loader) recordStep(s load.Step, res load.StepResult) {
	if res.Start.IsZero() {
		return
	}
	if len(l.run.record.Steps) == 0 {
		l.run.record.LoadStart = res.Start
	}
	l.run.record.LoadEnd = res.End
	l.run.record.Steps = append(l.run.record.Steps, results.Step{
		Index: s.Index, Step: s.Step,
		Start: res.Start, End: res.End, IssueEnd: res.IssueEnd, InsideNS: int64(res.Inside), ClientDelayNS: int64(res.ClientDelay), LargestGap: res.LargestGap,
		WaitingNS: int64(res.Waiting), ConnectionsLost: res.Lost, Reconnects: res.Reconnects, Resent: res.Resent, VersionReads: res.VersionReads,
	})
}

// spec returns the load as the load engine takes it.
func (l *loader) spec() load.Spec {
	spec := load.Spec{Load: l.run.db.Load, Seed: l.run.experiment.Seed}
	if spec.Preload > spec.Keys {
		spec.FirstKey = spec.Preload // after the existing keys
	}
	return spec
}

func (l *loader) reportProgress(p load.Progress) {
	l.see(p)
	if l.counts != nil {
		l.counts.Progress(p)
	}
	u := Update{Load: &p}
	if s := l.run.experiment.Search(); s != nil {
		u.Duration, _ = s.Lasts(l.run.experiment.Abilities, p.Step.Rate)
		l.run.journal.update(u)
		return
	}
	u.Steps = l.run.db.Load.Stretches()
	for _, s := range u.Steps {
		u.Total += s.Requests
		u.Duration += s.Duration
	}
	l.run.journal.update(u)
}
