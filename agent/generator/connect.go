package generator

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/loadwire"
)

// Connect opens the connections of this part for a step.
func (v service) Connect(ctx context.Context, req *pb.ConnectRequest) (*pb.ConnectResponse, error) {
	s, err := v.server.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	if err := s.begin("Connect", pb.LoadState_LOAD_STATE_PREPARED, pb.LoadState_LOAD_STATE_PREPARED, pb.LoadState_LOAD_STATE_CONNECTED); err != nil {
		return nil, err
	}
	state := pb.LoadState_LOAD_STATE_PREPARED
	defer func() { s.done(state) }()
	step, err := loadwire.StepOf(req.GetStep())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	d, clients, err := s.part.clientsOf(step, req.GetMembers())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	err = s.issuer.Connect(ctx, d, step, req.GetKeep())
	var refused *connect.RefusedError
	switch {
	case ctx.Err() != nil:
		if err := s.issuer.Disconnect(); err != nil {
			s.log.Warn("close connections that were opened too late", "error", err)
		}
		return nil, status.Errorf(codes.Aborted, "open connections: %v", context.Cause(ctx))
	case errors.As(err, &refused):
		return &pb.ConnectResponse{Clients: int32(clients), Refused: &pb.RefusedConnection{
			Member: int32(refused.Member), Text: refused.Error(), Lost: d.Gone(ctx, refused.Member),
		}}, nil
	case err != nil:
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	state = pb.LoadState_LOAD_STATE_CONNECTED
	return &pb.ConnectResponse{Connections: int32(s.issuer.Connections()), Clients: int32(clients)}, nil
}

// clientsOf checks step and returns a dialer for its connections, and the number of its clients in
// this part.
func (p *part) clientsOf(step load.Step, members []int32) (*connect.Dialer, int, error) {
	own := p.spec.Part.Count(int64(step.Clients))
	d, err := newDialer(p, members)
	switch {
	case err != nil:
		return nil, 0, err
	case step.Check() != nil:
		return nil, 0, fmt.Errorf("step %d: %w", step.Index, step.Check())
	case own < 1 || own > maxClients:
		return nil, 0, fmt.Errorf("step %d: each of %d parts must have 1 to %d clients, got %d clients", step.Index, p.spec.Part.Of, maxClients, step.Clients)
	case step.Connections < 1:
		return nil, 0, fmt.Errorf("step %d: connections must be at least 1, got %d", step.Index, step.Connections)
	}
	return d, int(own), nil
}
