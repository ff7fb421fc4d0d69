package generators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/control/fleet"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
)

// drainMargin is how long after the last request may end the generators' streams must end,
// once they were stopped.
const drainMargin = 30 * time.Second

// Step has all generators that are not lost issue their parts of a step, which begins at
// one time, and returns when the last of them has ended. Members returns those that
// connections go to; it is asked again after one of them was lost. Begin is called when
// the step begins.
//
// A generator that is lost does not end the step: the others complete it. If ctx ends, they
// issue nothing more, the result is complete, and the error is ctx's cause.
func (s *Set) Step(ctx context.Context, step load.Step, members func() ([]int, error), begin func()) (load.StepResult, error) {
	if err := s.connect(ctx, step, members); err != nil {
		return load.StepResult{}, err
	}
	gens, err := s.living()
	if err != nil {
		return load.StepResult{}, err
	}
	if err := s.compareAll(ctx, gens); err != nil {
		return load.StepResult{}, err
	}
	if gens, err = s.living(); err != nil {
		return load.StepResult{}, err
	}
	start := s.start(step.Index == 0)
	s.counts.begin(step, start)
	streams, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.stop(streams, gens, abandon)
	})
	defer func() {
		abandon(nil)
		if !unwatch() {
			<-stopped
		}
	}()
	ends, errs := make([]*loadwire.End, len(gens)), make([]error, len(gens))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i, g := range gens {
		wg.Go(func() { ends[i], errs[i] = s.follow(streams, g, step, start) })
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(time.Until(start))
	defer timer.Stop()
	select {
	case <-timer.C:
		begin()
	case <-done: // none could begin
	}
	<-done
	res, err := s.result(ends)
	if res.Start.IsZero() && slices.ContainsFunc(gens, func(g *generator) bool { return g.sent }) { // all were lost meanwhile
		now := time.Unix(0, s.unix(time.Now())).UTC()
		res.Start, res.IssueEnd, res.End = time.Unix(0, s.unix(start)).UTC(), now, now
	}
	if ctx.Err() != nil {
		return res, errors.Join(append(errs, context.Cause(ctx))...)
	}
	return res, errors.Join(append(errs, err)...)
}

// connect opens the connections of all parts.
func (s *Set) connect(ctx context.Context, step load.Step, members func() ([]int, error)) error {
	for {
		gens, err := s.living()
		if err != nil {
			return err
		}
		targets, err := members()
		if err != nil {
			return err
		}
		refused := make([]*pb.RefusedConnection, len(s.gens))
		err = each(gens, func(g *generator) (err error) {
			refused[g.index], err = s.connectOne(ctx, g, step, targets)
			return err
		})
		again := false
		for i, r := range refused {
			switch {
			case r == nil:
			case !slices.Contains(targets, int(r.GetMember())):
				err = errors.Join(err, fmt.Errorf("generator %s: it reported member %d, to which it has no connections: %s", s.opts.Addrs[i], r.GetMember()+1, r.GetText()))
			case r.GetLost() && s.opts.LoseMember != nil && len(targets) > 1:
				s.opts.LoseMember(int(r.GetMember()), fmt.Sprintf("it accepts no connection from generator %s: %s", s.opts.Addrs[i], r.GetText()))
				again = true
			default:
				err = errors.Join(err, fmt.Errorf("generator %s: member %d accepts no connections: %s", s.opts.Addrs[i], r.GetMember()+1, r.GetText()))
			}
		}
		if err != nil || !again {
			return err
		}
	}
}

// connectOne opens the connections of one part. A generator that is not reached, or has no
// session of this load any more, is lost, which is no error.
func (s *Set) connectOne(ctx context.Context, g *generator, step load.Step, targets []int) (*pb.RefusedConnection, error) {
	own, cancel := fleet.Within(ctx, connectTimeout)
	defer cancel()
	own, end := context.WithCancelCause(own)
	defer end(nil)
	g.steps(end)
	defer g.steps(nil)
	reply, err := g.client.Connect(own, &pb.ConnectRequest{RunId: g.runID, Step: loadwire.StepMessage(step), Members: indexes(targets)})
	switch {
	case err == nil:
		g.clients = int(reply.GetClients())
		return reply.GetRefused(), nil
	case ctx.Err() == nil && (own.Err() != nil || slices.Contains(absent, status.Code(err))):
		s.lose(g, broken(own, err))
		return nil, nil
	}
	return nil, g.failed(own, err)
}

// absent are the statuses of a generator that is not reached, whose session ended, or that
// another run has reserved meanwhile.
var absent = []codes.Code{codes.Unavailable, codes.Aborted, codes.FailedPrecondition, codes.PermissionDenied}

// stop has generators issue nothing more. Their streams then end; those that do not are
// abandoned.
func (s *Set) stop(ctx context.Context, gens []*generator, abandon context.CancelCauseFunc) {
	s.stopping.Store(true)
	late := time.AfterFunc(s.spec.Timeout+s.spec.Drain+drainMargin, func() { abandon(errors.New("it did not end its step after being stopped")) })
	context.AfterFunc(ctx, func() { late.Stop() })
	_ = each(gens, func(g *generator) error {
		own, cancel := fleet.Within(ctx, fleet.CallTimeout)
		defer cancel()
		if _, err := g.client.StopLoad(own, &pb.StopLoadRequest{RunId: g.runID}); err != nil && ctx.Err() == nil {
			s.lose(g, fmt.Errorf("it cannot be stopped: %w", broken(own, err)))
		}
		return nil
	})
}

// result makes one result of those of the parts; nil is a part that was lost.
func (s *Set) result(ends []*loadwire.End) (all load.StepResult, err error) {
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
		all.LargestGap = r.LargestGap
		if e.MembersGone {
			gone++
		}
	}
	if n > 1 { // parts know their own answers alone
		all.LargestGap = nil
	}
	s.previous = all.Requests
	switch {
	case n == 0:
		_, err = s.living()
	case gone == n:
		err = load.ErrMembersGone
	}
	return all, err
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
