package fleet

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// faultTimeout bounds applying or undoing a fault: a member may be ended as at the end of a run,
// and wait for its addresses before it starts again.
const faultTimeout = time.Minute

// Fault has the agent of a member apply a fault. The run id is filled in.
func (f *Fleet) Fault(ctx context.Context, member int, req *pb.FaultRequest) (*pb.FaultResponse, error) {
	return f.faulty(ctx, member, func(ctx context.Context, s *session) (*pb.FaultResponse, error) {
		req.RunId = s.RunID
		return s.Client.Fault(ctx, req)
	})
}

// Heal has the agent of a member undo a fault, unless it is over. The answer is empty if the agent
// never had the fault.
func (f *Fleet) Heal(ctx context.Context, member int, id string) (*pb.FaultResponse, error) {
	return f.faulty(ctx, member, func(ctx context.Context, s *session) (*pb.FaultResponse, error) {
		reply, err := s.Client.Heal(ctx, &pb.HealRequest{RunId: s.RunID, Id: id})
		if status.Code(err) == codes.NotFound {
			return &pb.FaultResponse{}, nil
		}
		return reply, err
	})
}

func (f *Fleet) faulty(ctx context.Context, member int, ask func(context.Context, *session) (*pb.FaultResponse, error)) (*pb.FaultResponse, error) {
	if member < 0 || member >= len(f.sessions) {
		return nil, fmt.Errorf("there is no agent of member %d", member+1)
	}
	s := f.sessions[member]
	ctx, cancel := remote.Within(ctx, faultTimeout)
	defer cancel()
	reply, err := ask(ctx, s)
	if err != nil {
		return nil, s.Failed(ctx, err)
	}
	return reply, nil
}
