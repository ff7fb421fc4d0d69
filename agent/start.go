package agent

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Start has the session plan and spawn a member. A call that ends early leaves
// the start going on: the same request again waits for the same answer.
func (v service) Start(ctx context.Context, req *pb.StartRequest) (*pb.StartResponse, error) {
	s, err := v.agent.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	t, err := s.letIn(req)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, "start", t.done); err != nil {
		return nil, err
	}
	return t.resp, t.err
}

// letIn returns the attempt that answers a request: a new one if the session is
// open, the one under way or done if it was for the same.
func (s *session) letIn(req *pb.StartRequest) (*attempt, error) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	switch s.state {
	case pb.State_STATE_OPEN:
		s.attempt = &attempt{req: proto.CloneOf(req), done: make(chan struct{})}
		s.state = pb.State_STATE_STARTING
		s.attempts <- s.attempt // has room: live took the one before to reopen
		return s.attempt, nil
	case pb.State_STATE_STARTING, pb.State_STATE_RUNNING:
		if sameStart(s.attempt.req, req) {
			return s.attempt, nil
		}
		return nil, status.Errorf(codes.FailedPrecondition, "the agent already runs %q for this run, started otherwise", s.attempt.req.GetTag())
	default:
		return nil, status.Errorf(codes.FailedPrecondition, "the session has ended (%s): close it and open another", s.reason())
	}
}

// sameStart compares requests but for their run ids, which a takeover changes.
func sameStart(a, b *pb.StartRequest) bool {
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	a.RunId, b.RunId = "", ""
	return proto.Equal(a, b)
}
