package agent

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// newSession returns an open session and starts its goroutines. agent.mu is held
// and the agent is not closed.
func newSession(a *Agent, run, owner string) *session {
	now := time.Now()
	s := &session{
		agent:    a,
		log:      a.opts.Log.With("run", pb.RunHash(run)),
		attempts: make(chan *attempt, 1),
		changes:  make(chan *change),
		ended:    make(chan struct{}),
		gone:     make(chan struct{}),
		now: sessionState{
			tenancy: tenancy{Tenant: tenant.Tenant{Run: run, Owner: owner, Since: now, Alive: now}},
			remains: remains{sizes: sizes{apparent: -1, allocated: -1}},
			state:   pb.State_STATE_OPEN,
		},
	}
	s.ctx, s.end = context.WithCancelCause(a.ctx)
	s.kept, s.drop = context.WithCancelCause(a.ctx)
	s.clients.Store(-1)
	a.runs.Begin()
	s.log.Info("session opened", "owner", owner, "version", a.opts.Version)
	a.wg.Go(s.live)
	a.wg.Go(func() { watchLease(s) })
	return s
}

// live is the session goroutine. It waits for a Start that is accepted, conducts the member, and
// returns with the session stopped.
func (s *session) live() {
	for s.ctx.Err() == nil {
		select {
		case <-s.ctx.Done():
		case t := <-s.attempts:
			s.try(t)
		}
	}
	s.set(pb.State_STATE_STOPPED)
	s.record()
	s.log.Info("session stopped", "reason", s.reason())
	if err := s.agent.runs.Err(); err != nil {
		s.problem("the agent's log is not whole", err)
	}
	close(s.ended)
	// A Start that was accepted as the session ended still needs its answer. No Start is accepted
	// after the state has changed.
	select {
	case t := <-s.attempts:
		t.answer(nil, s.abortedStart())
	default:
	}
}

// try carries out one Start. After a refusal, which leaves nothing behind, the session
// stays open for another Start.
func (s *session) try(t *attempt) {
	p, err := s.prepared(t.req)
	if err != nil || t.req.GetDryRun() {
		s.set(pb.State_STATE_OPEN)
		if err != nil {
			s.log.Warn("start refused", "error", err)
			t.answer(nil, err)
			return
		}
		t.answer(p.response(p.plannedChildren(), nil))
		return
	}
	life{s, p}.conduct(t)
}

// prepared plans the requested member and checks that it could run, or returns an error if the
// session ends first. Work without effects may be abandoned then. Checking the limits makes and
// removes a group, so prepared waits for it.
func (s *session) prepared(req *pb.StartRequest) (*planned, error) {
	p, err := s.unlessEnded(func() (*planned, error) { return s.prepare(req) })
	if err == nil {
		err = s.checkLimits(p)
	}
	if err != nil {
		return nil, err
	}
	return s.unlessEnded(func() (*planned, error) { return p, s.measurable(p) })
}

// unlessEnded returns what f returns, or an error if the session ends first: then it abandons f,
// which has no effects.
func (s *session) unlessEnded(f func() (*planned, error)) (*planned, error) {
	type result struct {
		p   *planned
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() { done <- r }()
		defer recovered(s.agent.opts.Log, "prepare", &r.err)
		r.p, r.err = f()
	}()
	select {
	case r := <-done:
		return r.p, r.err
	case <-s.ctx.Done():
		return nil, s.abortedStart()
	}
}

// checkLimits checks that the member can have its limits. It waits for the kernel, and at most ten
// seconds until the group on which it tests them is removed.
func (s *session) checkLimits(p *planned) (err error) {
	defer recovered(s.agent.opts.Log, "check the limits", &err)
	return p.grouping.find()
}

// accept returns the attempt that answers a request: a new one if the session is open, or the
// attempt under way or done if it was for the same request.
func (s *session) accept(req *pb.StartRequest) (*attempt, error) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	switch s.now.state {
	case pb.State_STATE_OPEN:
		s.now.attempt = &attempt{req: proto.CloneOf(req), done: make(chan struct{})}
		s.now.state = pb.State_STATE_STARTING
		s.attempts <- s.now.attempt // has room: live received the previous one before it reopened
		return s.now.attempt, nil
	case pb.State_STATE_STARTING, pb.State_STATE_RUNNING:
		if sameStart(s.now.attempt.req, req) {
			return s.now.attempt, nil
		}
		return nil, status.Errorf(codes.FailedPrecondition, "the agent already runs %q for this run, started by a different request", s.now.attempt.req.GetTag())
	default:
		return nil, status.Errorf(codes.FailedPrecondition, "the session has ended (%s): close it and open another", s.reason())
	}
}

// takeOver makes the run in req the owner of a detached session, which may be nil, or returns why
// not. The session must run the member that the request describes: its records would otherwise be
// another cluster's. If two controls want it, the first has it until it leaves or is silent for a
// lease. agent.mu is held.
func (s *session) takeOver(req *pb.OpenRequest) error {
	want := req.GetTakeOver()
	switch {
	case s == nil, s.now.removing, s.ctx.Err() != nil, s.now.state != pb.State_STATE_RUNNING, s.now.tag != want.GetTag():
		return status.Errorf(codes.FailedPrecondition, "no detached session of %q is running on this agent", want.GetTag())
	case !s.now.detached, !s.now.left && s.now.Left(s.agent.opts.Lease) > 0:
		return s.now.refusal(codes.FailedPrecondition)
	case !sameMember(s.now.attempt.req, want):
		return status.Errorf(codes.FailedPrecondition, "the detached session of %q on this agent was started with hosts, options or versions that differ from this run's", want.GetTag())
	}
	s.log.Info("session taken over", "by", pb.RunHash(req.GetRunId()), "owner", req.GetOwner())
	s.now.Run, s.now.Owner, s.now.Alive = req.GetRunId(), req.GetOwner(), time.Now()
	s.now.left, s.now.detached = false, want.GetDetached()
	return nil
}

// sameMember reports whether two requests start the same member.
func sameMember(a, b *pb.StartRequest) bool {
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	for _, r := range []*pb.StartRequest{a, b} {
		r.RunId, r.Clients, r.Detached, r.DryRun, r.Install = "", 0, false, false, false
	}
	return proto.Equal(a, b)
}

// sameStart compares requests except their run ids, which a takeover changes.
func sameStart(a, b *pb.StartRequest) bool {
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	a.RunId, b.RunId = "", ""
	return proto.Equal(a, b)
}
