package agent

import (
	"context"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Start has the session plan and spawn a member. If the call ends early, the start continues: a
// repeated request waits for the same answer.
func (v service) Start(ctx context.Context, req *pb.StartRequest) (*pb.StartResponse, error) {
	s, err := v.agent.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	t, err := s.accept(req)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, "start", t.done); err != nil {
		return nil, err
	}
	return t.resp, t.err
}
