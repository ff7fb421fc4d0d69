package agent

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// takeOver makes the run of req the owner of a detached session, which may be nil, or
// returns why not. The session must run what the request describes: its records would
// otherwise be those of another cluster. Of two controls that want it, the first has it
// until it leaves or is silent for a lease. agent.mu is held.
func (s *session) takeOver(req *pb.OpenRequest) error {
	want := req.GetTakeOver()
	switch {
	case s == nil, s.now.removing, s.ctx.Err() != nil, s.now.state != pb.State_STATE_RUNNING, s.now.tag != want.GetTag():
		return status.Errorf(codes.FailedPrecondition, "no detached session of %q is running on this agent", want.GetTag())
	case !s.now.detached, !s.now.left && time.Since(s.now.alive) < s.agent.opts.Lease:
		return s.refusal(codes.FailedPrecondition)
	case !sameMember(s.now.attempt.req, want):
		return status.Errorf(codes.FailedPrecondition, "the detached session of %q on this agent was started with other hosts, options or versions than this run describes", want.GetTag())
	}
	s.log.Info("session taken over", "by", pb.RunHash(req.GetRunId()), "owner", req.GetOwner())
	s.now.run, s.now.owner, s.now.alive = req.GetRunId(), req.GetOwner(), time.Now()
	s.now.left, s.now.detached = false, want.GetDetached()
	return nil
}

// leave takes the last sign of a control that leaves its member running.
func (s *session) leave() {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if s.now.state == pb.State_STATE_RUNNING {
		s.now.left, s.now.detached = true, true
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
