package issue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// drainMargin is the time for which stopped generators may go on streaming after their last
// requests ended.
const drainMargin = 30 * time.Second

// Step adds the end and the members to a step.
type Step struct {
	load.Step
	// Until, if not nil, ends only this step: others may follow. It ends with [Set.Step]'s context.
	Until context.Context
	// Members returns the members to which generators connect. It is called again after a member
	// was lost.
	Members func() ([]int, error)
	// Begin is called when the step begins.
	Begin func()
	// Keep leaves the connections open for the next step.
	Keep bool
}

// Step has all parts issue their shares of a step, which begins at one time for all, and returns
// when the last part has ended.
//
// A lost generator does not end the step: the others complete it. If ctx or Until ends, the parts
// issue nothing more, the result is complete, and the error is the cause. A step fails if its
// records could not be written.
func (s *Set) Step(ctx context.Context, step Step) (load.StepResult, error) {
	if step.Until == nil {
		step.Until = ctx
	}
	if err := s.connect(ctx, step); err != nil {
		return load.StepResult{}, err
	}
	if err := s.compareAll(ctx); err != nil {
		return load.StepResult{}, err
	}
	parts, err := s.living()
	if err != nil {
		return load.StepResult{}, err
	}
	start := s.start(s.previous == 0)
	s.counts.begin(step.Step, start)
	calls, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	unwatch := context.AfterFunc(step.Until, func() {
		defer close(stopped)
		s.stop(calls, ctx.Err() == nil, abandon)
	})
	defer func() {
		abandon(nil)
		if !unwatch() {
			<-stopped
		}
	}()
	run := running{step: step.Step, start: start, until: step.Until, previous: s.previous, forget: s.forget}
	s.forget = false
	ends, errs := s.run(calls, parts, run, step.Begin)
	res, err := s.result(step.Step.Step, ends)
	if res.Start.IsZero() && slices.ContainsFunc(parts, func(p *part) bool { return p.sent }) { // all were lost meanwhile
		now := time.Unix(0, s.unix(time.Now())).UTC()
		res.Start, res.IssueEnd, res.End = time.Unix(0, s.unix(start)).UTC(), now, now
	}
	errs = append(errs, s.unwritten())
	if step.Until.Err() != nil {
		return res, errors.Join(append(errs, context.Cause(step.Until))...)
	}
	return res, errors.Join(append(errs, err)...)
}

// run has parts run a step, and calls begin when it begins. It returns how the step ended for each
// part, nil for lost ones.
func (s *Set) run(ctx context.Context, parts []*part, r running, begin func()) ([]*issuer.End, []error) {
	ends, errs := make([]*issuer.End, len(parts)), make([]error, len(parts))
	if !s.Remote() {
		begin()
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { ends[i], errs[i] = s.follow(ctx, p, r) })
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	if s.Remote() {
		timer := time.NewTimer(time.Until(r.start))
		defer timer.Stop()
		select {
		case <-timer.C:
			begin()
		case <-done: // no part could begin
		}
	}
	<-done
	return ends, errs
}

// follow has p run a step. It returns nil if p was lost, and the error from the step in p.
func (s *Set) follow(ctx context.Context, p *part, r running) (*issuer.End, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.calls(cancel)
	defer p.calls(nil)
	p.begin(r.step.Index)
	out := &intake{part: p, to: s.out(p), timing: results.TimingOf(r.step.Rate > 0)}
	end, err := p.issuer.run(ctx, r, out)
	switch {
	case end == nil && errors.Is(err, errEnded) && !p.sent && s.stopping.Load(): // it was stopped before it was asked to run
		out.to.Lost(errStopped)
		return nil, nil
	case end == nil:
		s.lose(p, err)
		return nil, nil
	case end.Result.Start.IsZero():
		out.to.Lost(errStopped)
	}
	p.finish(end)
	return end, err
}

// connect opens the connections of all parts.
func (s *Set) connect(ctx context.Context, step Step) error {
	for {
		parts, err := s.living()
		if err != nil {
			return err
		}
		var targets []int
		if s.Remote() {
			if targets, err = step.Members(); err != nil {
				return err
			}
		}
		refused := make([]*refusal, len(s.parts))
		err = each(parts, func(p *part) (err error) {
			p.clients, refused[p.index], err = p.issuer.connect(ctx, step.Step, step.Keep, targets)
			return err
		})
		again := false
		for i, r := range refused {
			switch {
			case r == nil:
			case !slices.Contains(targets, r.Member):
				err = errors.Join(err, fmt.Errorf("%s: it reported member %d, to which it has no connections: %w", s.parts[i], r.Member+1, r))
			case r.lost && s.opts.LoseMember != nil && len(targets) > 1:
				s.opts.LoseMember(r.Member, fmt.Sprintf("it accepts no connection from %s: %v", s.parts[i], r))
				again = true
			default:
				err = errors.Join(err, fmt.Errorf("%s: member %d accepts no connections: %w", s.parts[i], r.Member+1, r))
			}
		}
		if err != nil || !again {
			return err
		}
	}
}

// stop has generators issue nothing more in a step or in the whole load. Their streams then end.
// Streams that do not are abandoned.
func (s *Set) stop(ctx context.Context, step bool, abandon context.CancelCauseFunc) {
	s.stopping.Store(!step)
	late := time.AfterFunc(s.spec.Timeout+s.spec.Drain+drainMargin, func() { abandon(errors.New("it did not end its step after being stopped")) })
	context.AfterFunc(ctx, func() { late.Stop() })
	_ = each(s.gens, func(g *generator) error {
		if g.lostBy() != nil {
			return nil
		}
		own, cancel := remote.Within(ctx, remote.CallTimeout)
		defer cancel()
		if _, err := g.Client.StopLoad(own, &pb.StopLoadRequest{RunId: g.RunID, Step: step}); err != nil && ctx.Err() == nil {
			s.lose(g.part, fmt.Errorf("it cannot be stopped: %w", broken(own, err)))
		}
		return nil
	})
}

// result merges the results of all parts; nil is a lost part.
func (s *Set) result(step workload.Step, ends []*issuer.End) (all load.StepResult, err error) {
	n, gone := 0, 0
	for _, e := range ends {
		if e == nil || e.Result.Start.IsZero() {
			continue
		}
		n++
		r := &e.Result
		if all.Start.IsZero() || r.Start.Before(all.Start) {
			all.Start = r.Start
		}
		all.End, all.IssueEnd, all.Requests = later(all.End, r.End), later(all.IssueEnd, r.IssueEnd), max(all.Requests, r.Requests)
		all.Inside += r.Inside
		all.ClientDelay += r.ClientDelay
		all.Waiting += r.Waiting
		all.Lost += r.Lost
		all.Reconnects += r.Reconnects
		all.Resent += r.Resent
		all.VersionReads += r.VersionReads
		all.ObserverWaits.Count += r.ObserverWaits.Count
		all.ObserverWaits.NS += r.ObserverWaits.NS
		all.LargestGap = r.LargestGap
		if e.MembersGone {
			gone++
		}
	}
	if n > 0 && len(s.parts) > 1 { // parts know only their own answers, and some may be lost
		all.LargestGap = s.longestGap(step, all)
	}
	s.previous = all.Requests
	s.resent += all.Resent
	s.waits.Count += all.ObserverWaits.Count
	s.waits.NS += all.ObserverWaits.NS
	switch {
	case n == 0:
		_, err = s.living()
	case gone == n:
		err = load.ErrMembersGone
	}
	return all, err
}

// longestGap returns the longest time in which no part had an ok answer, within the measured
// window; nil if the step ended before its window began.
func (s *Set) longestGap(step workload.Step, r load.StepResult) *results.Gap {
	from, to := s.spec.WarmUp, r.End.Sub(r.Start)
	if step.Duration > 0 {
		to = min(to, step.Duration-s.spec.CoolDown, r.IssueEnd.Sub(r.Start))
	}
	if to <= from {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gap := s.merger.LongestGap(from, to)
	return &gap
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
