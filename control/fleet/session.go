package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/control/fleet/claim"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// session is the fleet's side of a session: it owns the connection to one agent.
type session struct {
	index  int // of the member
	addr   string
	client pb.AgentClient
	closer io.Closer // nil without a connection
	runID  string
	// version is the version of this control's program; "" accepts agents of any version.
	version string
	opened  bool          // or perhaps opened: an Open was sent
	nudge   chan struct{} // holds one request to send a heartbeat now
	// silent is since when probes have not reached the agent; zero if they do. Only one probe at
	// a time uses it.
	silent time.Time
}

// hurry requests a heartbeat now.
func (s *session) hurry() {
	select {
	case s.nudge <- struct{}{}:
	default: // one is due already
	}
}

// How long an agent may take to answer. Each call has its own bound, so an agent that hangs does
// not delay the others.
const (
	// CallTimeout is for calls that wait for nothing.
	CallTimeout = 10 * time.Second
	// startTimeout is for a Start, which probes the disk and spawns processes.
	startTimeout = 60 * time.Second
	// stopTimeout is for a Stop: longer than an agent gives its processes to stop.
	stopTimeout = 60 * time.Second
	// silentTimeout is how long a member's agent may refuse every probe, or its machine
	// every connection, before the member counts as dead.
	silentTimeout = 3 * time.Second
	// stallTimeout is for the next piece of a file.
	stallTimeout = 15 * time.Second
	// installTimeout is for an install: the longest build takes a third of it.
	installTimeout = 30 * time.Minute
)

// Within returns a context that ends after d at the latest, with a cause that
// names d.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v", d))
}

// dial connects to the agent.
func (s *session) dial(ctx context.Context, dial func(context.Context, string) (pb.AgentClient, io.Closer, error)) error {
	client, closer, err := dial(ctx, s.addr)
	if err != nil {
		return fmt.Errorf("agent %s: %w", s.addr, err)
	}
	s.client, s.closer = client, closer
	return nil
}

// open reserves the agent. takeOver describes a member that an earlier run left
// running; nil for none.
func (s *session) open(ctx context.Context, owner string, takeOver *pb.StartRequest) (*pb.OpenResponse, error) {
	ctx, cancel := Within(ctx, CallTimeout)
	defer cancel()
	reply, err := s.client.Open(ctx, &pb.OpenRequest{RunId: s.runID, Owner: owner, TakeOver: takeOver})
	s.opened = err == nil || ctx.Err() != nil // the agent may have carried out an Open whose answer did not arrive
	if err != nil {
		return nil, Held(err, s.failed(ctx, err))
	}
	return reply, s.sameVersion(reply.GetVersion())
}

// Held returns explained, as a [claim.HeldError] if err names an owner: another run holds the
// callee.
func Held(err, explained error) error {
	for _, detail := range status.Convert(err).Details() {
		if _, ok := detail.(*pb.Owner); ok {
			return &claim.HeldError{Err: explained}
		}
	}
	return explained
}

// sameVersion refuses an agent whose version is not this control's: it may read requests
// differently, or measure something else under the same name.
func (s *session) sameVersion(agent string) error {
	if s.version == "" || agent == "" || agent == s.version {
		return nil
	}
	return fmt.Errorf("agent %s is dbtester %s, and this control is dbtester %s: install the same version on all machines", s.addr, agent, s.version)
}

// reach requests the agent's status, to learn its version and whether it answers.
func (s *session) reach(ctx context.Context) error {
	ctx, cancel := Within(ctx, CallTimeout)
	defer cancel()
	reply, err := s.client.Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return s.failed(ctx, err)
	}
	return s.sameVersion(reply.GetVersion())
}

// close closes the session, if it was opened.
func (s *session) close(ctx context.Context) error {
	if !s.opened {
		return nil
	}
	ctx, cancel := Within(ctx, CallTimeout)
	defer cancel()
	if _, err := s.client.Close(ctx, &pb.CloseRequest{RunId: s.runID}); err != nil {
		return s.failed(ctx, err)
	}
	s.opened = false
	return nil
}

// leave tells the agent that this run leaves its member running, if the session was opened. An
// agent that does not receive the call finds out after its lease.
func (s *session) leave(ctx context.Context) error {
	if !s.opened {
		return nil
	}
	ctx, cancel := Within(ctx, CallTimeout)
	defer cancel()
	if _, err := s.client.Heartbeat(ctx, &pb.HeartbeatRequest{RunId: s.runID, Leaving: true}); err != nil {
		return s.failed(ctx, err)
	}
	s.opened = false
	return nil
}

// failed returns why a call failed, with the agent's name.
func (s *session) failed(ctx context.Context, err error) error {
	return Explain(ctx, "agent "+s.addr, err)
}

// Explain returns why a call to who failed: the cause of ctx if ctx ended, else the callee's
// message without gRPC's words around it.
func Explain(ctx context.Context, who string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", who, cause)
	}
	answer := status.Convert(err)
	text := strings.TrimSpace(answer.Message())
	if answer.Code() == codes.DeadlineExceeded { // the other clock ran out first
		text = "no answer in time"
	}
	if reason, ok := unreached(text); ok {
		return fmt.Errorf("%s cannot be reached: %s", who, reason)
	}
	return fmt.Errorf("%s: %s", who, text)
}
