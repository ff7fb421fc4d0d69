package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	holding "github.com/coreos/dbtester/pkg/coordination/session"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
)

// maxHolders bounds the requests for sessions that run at the same time.
const maxHolders = 1024

// hold lets a verb use what the run holds, alone, beside the verbs for its load. The verb calls
// done when it ends.
func (v service) hold(run string) (s *session, done func(), err error) {
	if s, err = v.server.own(run); err != nil {
		return nil, nil, err
	}
	if err := s.use(); err != nil {
		return nil, nil, err
	}
	s.held.mu.Lock()
	return s, func() { s.held.mu.Unlock(); s.work.Done() }, nil
}

// use keeps what Prepare opened until a verb ends, which calls work.Done.
func (s *session) use() error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return s.over()
	case s.now.busy == verbPrepare:
		return status.Error(codes.FailedPrecondition, "the load is not prepared yet")
	}
	s.work.Add(1)
	return nil
}

// GrantSessions begins the sessions of this part that are held beside the load.
func (v service) GrantSessions(ctx context.Context, req *pb.GrantSessionsRequest) (*pb.GrantSessionsResponse, error) {
	s, done, err := v.hold(req.GetRunId())
	if err != nil {
		return nil, err
	}
	defer done()
	if s.held.holder != nil {
		return nil, status.Error(codes.FailedPrecondition, "the sessions of this load were granted before")
	}
	options, err := v.server.heldBy(s, req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if options.Plan.Held == 0 {
		return &pb.GrantSessionsResponse{}, nil
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	if s.held.on, err = s.part.driver.(database.SessionDialer).DialSessions(ctx, s.part.target); err != nil {
		return nil, status.Errorf(codes.Unavailable, "dial for sessions: %v", err)
	}
	options.On = s.held.on
	s.held.holder = holding.New(options) // kept if Grant fails: the sessions granted so far are ended with the part
	if err := s.held.holder.Grant(ctx); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &pb.GrantSessionsResponse{}, nil
}

// heldBy returns the sessions that a request asks to hold, without the connections. The caller
// holds s.held.mu.
func (v *Server) heldBy(s *session, req *pb.GrantSessionsRequest) (o holding.Options, err error) {
	entry, err := v.opts.Registry.Get(s.part.database)
	if err != nil {
		return o, err
	}
	facts := database.SessionFactsOf(entry.Info, s.part.driver)
	if _, can := s.part.driver.(database.SessionDialer); !can || facts == nil {
		return o, fmt.Errorf("sessions of %s cannot be held: %s", entry.Name, entry.Info.NoSessions)
	}
	if req.GetValueSize() < 0 || int(req.GetValueSize()) > s.part.spec.LargestValue() || req.GetWorkers() < 1 || req.GetWorkers() > maxHolders {
		return o, fmt.Errorf("values of sessions must have at most the %d bytes of the load's, for 1 to %d workers, got %d for %d", s.part.spec.LargestValue(), maxHolders, req.GetValueSize(), req.GetWorkers())
	}
	plan, err := holding.PlanOf(req.GetPlan())
	if err != nil {
		return o, err
	}
	seen := observation.NewRecorder(holding.Observed())
	s.held.seen = seen
	stated := func(t time.Time) time.Time { return s.clock.at(t).Add(-time.Duration(req.GetOffsetNs())) }
	return holding.Options{
		Facts: *facts, Plan: plan, ValueSize: int(req.GetValueSize()), Workers: int(req.GetWorkers()), Keys: keeper.NewKeys(), Stated: stated,
		Seen: func(name string, at time.Time, number int64) { seen.Add(name, stated(at), 0, number) },
		Died: func(time.Time, int) {},
	}, nil
}

// HoldSessions lets the holders die.
func (v service) HoldSessions(ctx context.Context, req *pb.HoldSessionsRequest) (*pb.HoldSessionsResponse, error) {
	s, done, err := v.hold(req.GetRunId())
	if err != nil {
		return nil, err
	}
	defer done()
	if s.held.holder == nil {
		return &pb.HoldSessionsResponse{}, nil
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	if err := s.held.holder.Run(ctx); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &pb.HoldSessionsResponse{}, nil
}

// EndSessions ends the sessions that are left.
func (v service) EndSessions(ctx context.Context, req *pb.EndSessionsRequest) (*pb.EndSessionsResponse, error) {
	s, done, err := v.hold(req.GetRunId())
	if err != nil {
		return nil, err
	}
	defer done()
	if s.held.holder == nil {
		return &pb.EndSessionsResponse{}, nil
	}
	part, seconds := s.held.end(ctx)
	resp := &pb.EndSessionsResponse{}
	if resp.Part, err = json.Marshal(part); err == nil {
		resp.Seconds, err = json.Marshal(seconds)
	}
	if err != nil {
		return nil, status.Errorf(codes.Internal, "encode what became of sessions: %v", err)
	}
	return resp, nil
}
