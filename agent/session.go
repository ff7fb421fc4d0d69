package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/member"
)

// reason is why a session ended. It is the cause its context is cancelled with:
// the first one stays.
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
	// attempts carries a Start from its verb to live; it has room for the one that
	// state open lets in.
	attempts chan *attempt
	ended    chan struct{} // closed once stopped
	gone     chan struct{} // closed once the agent is free of this session
	// clients is what control last said, for the sampler.
	clients   atomic.Int64
	recording sync.Mutex // held while session.json is written

	// What follows is guarded by agent.mu.

	run, owner string
	since      time.Time
	alive      time.Time // last sign of the control
	detached   bool
	expired    bool // the lease has ended: the next Open may have the agent
	removing   bool // Close, or the next Open, is at the directory
	state      pb.State
	attempt    *attempt // the Start that was let in last
	planned    *planned // what runs or ran; nil before
	tag        string
	dir        string   // below the work directory; "" before it is made
	files      []string // what Collect indexes, below dir
	spawned    []member.Child
	member     *member.Member
	tails      map[string]string // the last words of children that died unasked, by name
	exits      map[string]string // how children ended that an earlier agent saw end, by name
	sizes      sizes
}

// sizes are of the data directories after the stop, in bytes; -1 if they were not
// measured.
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
func (a *Agent) newSession(run, owner string) *session {
	now := time.Now()
	s := &session{
		agent:    a,
		log:      a.opts.Log.With("run", run),
		attempts: make(chan *attempt, 1),
		ended:    make(chan struct{}),
		gone:     make(chan struct{}),
		run:      run,
		owner:    owner,
		since:    now,
		alive:    now,
		state:    pb.State_STATE_OPEN,
		sizes:    sizes{apparent: -1, allocated: -1},
	}
	s.ctx, s.end = context.WithCancelCause(a.ctx)
	s.clients.Store(-1)
	a.wg.Go(s.live)
	a.wg.Go(s.watchLease)
	return s
}

// live is the session's goroutine: it waits for a Start that holds, conducts the
// member, and returns with the session stopped.
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
	close(s.ended)
	// A Start that was let in as the session ended is still owed an answer. None
	// comes after the state changed.
	select {
	case t := <-s.attempts:
		t.answer(nil, s.abortedStart())
	default:
	}
}

// try carries out one Start. A refusal before anything was touched leaves the
// session open, for another try.
func (s *session) try(t *attempt) {
	p, err := s.prepare(t.req)
	if err != nil || t.req.GetDryRun() {
		s.set(pb.State_STATE_OPEN)
		if err != nil {
			t.answer(nil, err)
			return
		}
		t.answer(p.response(p.plannedChildren()))
		return
	}
	s.conduct(p, t)
}

// set moves the session to a state.
func (s *session) set(state pb.State) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.state = state
	if state == pb.State_STATE_STOPPED && s.detached {
		// A detached session lives without its control; its remains get one lease.
		s.alive = time.Now()
	}
}

// over reports whether the session has stopped. agent.mu is held.
func (s *session) over() bool { return s.state == pb.State_STATE_STOPPED }

// reason is why the session ended, "" if it has not.
func (s *session) reason() string {
	var r reason
	if err := context.Cause(s.ctx); errors.As(err, &r) {
		return string(r)
	}
	return ""
}

// abortedStart is the answer to a Start that the session's end overtook.
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
