package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
)

// reason is why a session ended. It is the cause with which its context is cancelled: the first
// one stays.
type reason string

const (
	reasonAsked          reason = "asked"
	reasonLeaseExpired   reason = "lease expired"
	reasonChildDied      reason = "child died"
	reasonStartFailed    reason = "start failed"
	reasonAgentClosed    reason = "agent closed"
	reasonAgentRestarted reason = "agent restarted"
)

// Error makes a reason a cause.
func (r reason) Error() string { return string(r) }

// session is one member's life on this agent:
//
//	open -> starting -> running -> stopping -> stopped
//
// Its own goroutine, live, makes every one of these transitions; verbs ask for
// them, through attempts and the end of ctx, and wait on a channel.
type session struct {
	agent *Agent
	log   *slog.Logger

	// ctx ends when the session is to stop, its cause being the reason.
	ctx context.Context
	end context.CancelCauseFunc
	// attempts carries a Start from its verb to live. It has room for the one Start that state
	// open accepts.
	attempts chan *attempt
	// changes carries faults to apply or undo while the member runs.
	changes chan *change
	ended   chan struct{} // closed once stopped
	gone    chan struct{} // closed once the agent is free of this session
	// kept ends, by drop, when the session's directory is to be removed.
	kept context.Context
	drop context.CancelCauseFunc
	// clients is the last number of clients from control, for the sampler.
	clients atomic.Int64
	// newest is the last sample of the member, nil before the first.
	newest    atomic.Pointer[results.Sample]
	recording sync.Mutex // held while session.json is written

	// now is guarded by agent.mu.
	now sessionState
}

// sessionState is the part of a session that changes.
type sessionState struct {
	tenancy
	faulted
	remains
	removing bool // Close, or the next Open, is removing the directory
	state    pb.State
	attempt  *attempt // the Start that was accepted last
	planned  *planned // the member that runs or ran; nil before
	tag      string
	dir      string   // below the work directory; "" before it is made
	files    []string // the files that Collect indexes, below dir
	spawned  []member.Child
	member   *member.Member
	group    []string // the directories of the member's control group
}

// tenancy is the owner of a session. Its run and owner change when a detached session is taken
// over.
type tenancy struct {
	tenant.Tenant
	detached bool
	left     bool // the control has left: another may take over at once
	expired  bool // the lease has ended, or the control has left what stopped: the next Open may have the agent
}

// faulted is the state of faults on a session's member.
type faulted struct {
	disk   *owndisk.Disk  // the member's own, nil for none
	faults []fault.Record // in the order of their requests
	down   bool           // a fault ended the member: the session goes on
	older  bool           // the member's writes until it was ready are on its own disk
}

// remains are the facts about a member that has ended.
type remains struct {
	tails    map[string]string // the last log lines of children that died by themselves, by name
	exits    map[string]string // how children of an earlier agent ended, by name
	sizes    sizes
	use      *resources.Use // the member's use of resources, once its group is removed
	problems []string       // what could not be recorded
}

// sizes are the sizes of the data directories after the stop, in bytes; -1 if not measured.
type sizes struct{ apparent, allocated int64 }

// attempt is one Start: its request and, after done is closed, its answer.
type attempt struct {
	req  *pb.StartRequest
	done chan struct{}
	resp *pb.StartResponse
	err  error
}

// answer gives the attempt its answer. It is called once.
func (t *attempt) answer(resp *pb.StartResponse, err error) {
	t.resp, t.err = resp, err
	close(t.done)
}

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

// live is the session's goroutine. It waits for a Start that is accepted, conducts the member,
// and returns with the session stopped.
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
	// A Start that was accepted as the session ended still needs its answer. None is accepted
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

// prepared plans the member of a request and checks that it could run, or returns an error if the
// session ends first. Work without effects may be abandoned then. The check of limits makes and
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

// checkLimits checks that the member can have its limits. It waits for the kernel, and at most
// ten seconds for the removal of the group on which it tests them.
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

// set moves the session to a state.
func (s *session) set(state pb.State) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.now.state = state
	if state == pb.State_STATE_STOPPED && s.now.detached {
		// A detached session lives without its control; its remains get one lease.
		s.now.Alive = time.Now()
	}
}

// over reports whether the session has stopped. agent.mu is held.
func (s *session) over() bool { return s.now.state == pb.State_STATE_STOPPED }

// problem records, once, something that could not be recorded, for the run.
func (s *session) problem(what string, err error) {
	s.log.Warn(what, "error", err)
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if text := fmt.Sprintf("%s: %v", what, err); !slices.Contains(s.now.problems, text) {
		s.now.problems = append(s.now.problems, text)
	}
}

// reason is why the session ended, "" if it has not.
func (s *session) reason() string {
	var r reason
	if err := context.Cause(s.ctx); errors.As(err, &r) {
		return string(r)
	}
	return ""
}

// abortedStart is the answer to a Start if the session ends first.
func (s *session) abortedStart() error {
	return status.Errorf(codes.Aborted, "the session stopped while starting: %s", s.reason())
}

// wait waits for a session's channel within a call.
func wait(ctx context.Context, what string, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return status.Errorf(status.FromContextError(ctx.Err()).Code(), "%s: %v", what, ctx.Err())
	}
}

// setClients sets the number of clients from control, for the sampler and the file.
func (s *session) setClients(n int64) {
	s.clients.Store(n)
	if err := s.agent.clientFile.set(n); err != nil {
		s.log.Warn("number of clients was not written", "error", err)
	}
}

// takeOver makes the run of req the owner of a detached session, which may be nil, or returns why
// not. The session must run what the request describes: its records would otherwise be another
// cluster's. Of two controls that want it, the first has it until it leaves or is silent for a
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

// leave records the last call of a control that leaves its member running, or the files of a
// stopped one.
func (s *session) leave() {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	switch {
	case s.now.state == pb.State_STATE_RUNNING:
		s.now.left, s.now.detached = true, true
	case s.over():
		s.now.expired = true
	}
}

// sameMember reports whether two requests start the same member.
func sameMember(a, b *pb.StartRequest) bool {
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	for _, r := range []*pb.StartRequest{a, b} {
		r.RunId, r.Clients, r.Detached, r.DryRun, r.Install = "", 0, false, false, false
	}
	return proto.Equal(a, b)
}
