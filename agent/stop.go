package agent

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Stop ends the member commands and answers when they have ended and their data is measured. It may
// be called in every state, and repeatedly. If a call ends early, the stop continues.
func (v service) Stop(ctx context.Context, req *pb.StopRequest) (*pb.StopResponse, error) {
	s, err := v.agent.own(req.GetRunId())
	if errors.Is(err, errIdle) {
		return &pb.StopResponse{ApparentBytes: -1, AllocatedBytes: -1}, nil
	}
	if err != nil {
		return nil, err
	}
	s.end(reasonAsked)
	if err := wait(ctx, "stop", s.ended); err != nil {
		return nil, err
	}
	v.agent.mu.Lock()
	left, use, problems := s.now.sizes, s.now.use, slices.Clone(s.now.problems)
	v.agent.mu.Unlock()
	resp := &pb.StopResponse{
		Children:       s.snapshot().childMessages(),
		ApparentBytes:  left.apparent,
		AllocatedBytes: left.allocated,
		Reason:         s.reason(),
		Problems:       problems,
	}
	if use != nil {
		if resp.Use, err = pb.Record("the use of the limits", use); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return resp, nil
}
