package generator

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// verbPrepare is the first verb that uses a session.
const verbPrepare = "Prepare"

// open opens a session for the run in req, with Prepare using it, or returns an old session to end
// first.
func (s *Server) open(ctx context.Context, req *pb.PrepareRequest) (opened, old *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.session
	switch {
	case ctx.Err() != nil: // its control may have sent the end already
		return nil, nil, status.FromContextError(ctx.Err()).Err()
	case s.closed:
		return nil, nil, status.Error(codes.Unavailable, errClosed.Error())
	case o != nil && o.ctx.Err() != nil:
		return nil, o, nil
	case o != nil && o.Run != req.GetRunId():
		return nil, nil, o.refusal(codes.FailedPrecondition)
	case o != nil && o.now.state == pb.LoadState_LOAD_STATE_RUNNING:
		return nil, nil, status.Error(codes.FailedPrecondition, "a step of this run is running: stop it first")
	case o != nil:
		o.end(errReplaced)
		return nil, o, nil
	}
	clock := newSessionClock(s.opts.wall)
	o = &session{
		Tenant: tenant.Tenant{Run: req.GetRunId(), Owner: req.GetOwner(), Since: clock.start(), Alive: time.Now()},
		server: s, log: s.opts.Log.With("run", pb.RunHash(req.GetRunId())), gone: make(chan struct{}), clock: clock,
		now: sessionState{state: pb.LoadState_LOAD_STATE_PREPARED, busy: verbPrepare},
	}
	o.ctx, o.end = context.WithCancelCause(s.ctx)
	o.issuing, o.stop = context.WithCancelCause(o.ctx)
	o.work.Add(1)
	s.session = o
	s.wg.Go(o.live)
	o.log.Info("a load is prepared", "owner", o.Owner)
	return o, nil, nil
}

// live waits until the session ends and frees its resources.
func (s *session) live() {
	tenant.Await(s.ctx, s.server.opts.Lease, s.leaseLeft)
	_ = s.state() // takes the lock: a verb accepted before has counted itself by then
	s.work.Wait()
	if err := s.free(); err != nil {
		s.log.Warn("close the connections of a load", "error", err)
	}
	s.log.Info("the session of a load ended", "reason", context.Cause(s.ctx))
	s.server.mu.Lock()
	s.server.session = nil
	s.server.mu.Unlock()
	close(s.gone)
}

// free closes what Prepare and Connect opened, and ends the sessions of the load.
func (s *session) free() error {
	if s.issuer == nil {
		return nil
	}
	err := s.issuer.Disconnect()
	s.held.end(s.ctx)
	s.ended = s.issuer.EndSessions(s.ctx)
	return err
}

// leaseLeft returns how long control may still be silent. At zero the session ends under the same
// lock, so that no verb can come between.
func (s *session) leaseLeft() time.Duration {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	left := s.Left(s.server.opts.Lease)
	if left <= 0 {
		s.end(errLease)
	}
	return left
}

// begin lets a verb use the session if its state is one in from, and sets its state meanwhile. The
// verb calls done when it ends.
func (s *session) begin(verb string, state pb.LoadState, from ...pb.LoadState) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return s.over()
	case s.now.busy != "":
		return status.Errorf(codes.FailedPrecondition, "%s: the generator is busy with %s", verb, s.now.busy)
	case !slices.Contains(from, s.now.state):
		return status.Errorf(codes.FailedPrecondition, "%s: the load is %s", verb, stateWord(s.now.state))
	}
	s.now.busy, s.now.state = verb, state
	s.work.Add(1)
	return nil
}

// done ends the use of the session by a verb.
func (s *session) done(state pb.LoadState) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.now.busy = ""
	if s.now.state != pb.LoadState_LOAD_STATE_STOPPED {
		s.now.state = state
	}
	s.work.Done()
}

func (s *session) state() pb.LoadState {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.now.state
}

// stopIssuing ends the load but not the session.
func (s *session) stopIssuing() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.now.state = pb.LoadState_LOAD_STATE_STOPPED
	s.stop(errStopped)
}

// stepping sets the function that stops the running step; nil without one.
func (s *session) stepping(stop context.CancelCauseFunc) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.now.stopStep = stop
}

// endStep ends the running step, if there is one, but not the load.
func (s *session) endStep() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.now.stopStep != nil {
		s.now.stopStep(errStopped)
	}
}

// wait waits until everything is freed.
func (s *session) wait(ctx context.Context) error {
	select {
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// within returns a context that ends with ctx, or when nothing more is to be issued.
func (s *session) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.issuing, func() { cancel(context.Cause(s.issuing)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// lose records which members are lost.
func (s *session) lose(members []int32) {
	list := slices.Clone(members)
	s.lost.Store(&list)
}

// allLost reports whether some members are all lost.
func (s *session) allLost(members []int) bool {
	lost := s.lost.Load()
	if lost == nil {
		return false
	}
	return !slices.ContainsFunc(members, func(m int) bool { return !slices.Contains(*lost, int32(m)) })
}

// over returns the error for verbs after the session has ended.
func (s *session) over() error {
	return status.Errorf(codes.Aborted, "the session of this load is over: %v", context.Cause(s.ctx))
}

// refusal returns the error for another run. It names the owner. server.mu is held.
func (s *session) refusal(code codes.Code) error {
	return s.Refusal(code, "generator", "", s.Message())
}

// stateWord returns the word for a state in errors.
func stateWord(state pb.LoadState) string {
	switch state {
	case pb.LoadState_LOAD_STATE_PREPARED:
		return "prepared, and no connections are open"
	case pb.LoadState_LOAD_STATE_PRELOADING:
		return "writing its keys"
	case pb.LoadState_LOAD_STATE_CONNECTED:
		return "connected"
	case pb.LoadState_LOAD_STATE_RUNNING:
		return "running"
	case pb.LoadState_LOAD_STATE_STOPPED:
		return "stopped"
	default:
		return "in no known state"
	}
}
