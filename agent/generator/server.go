// Package generator issues one part of a load on an agent's machine, asked over gRPC: it is
// prepared for one run, writes its keys, runs its part of each step, and streams the records.
//
// A generator keeps no state outside its [Server] value, so several can live in one process.
//
// A generator is a service beside the agent, with the agent's credentials and its own session,
// lease and single owner. Its verbs:
//
//	Prepare             the load, seed, first key, part and number of parts, endpoints, paths
//	                    of secrets on the generator, both if [Targets] and [Secrets] allow
//	                    them -> its machine, version and self-check,
//	                    and whether the agent has a member
//	GeneratorHeartbeat  which members are lost -> time stamps
//	Preload             clients, or keys in a request -> a stream of how many keys are written
//	Connect             a step of the whole load and the members to connect to -> how many
//	                    connections are open, or which member took none
//	Run                 the start, and how far the generator's clock is ahead -> a stream of
//	                    seconds, member totals, events, samples, and one StepEnd
//	Judge               the mode and the members to read keys back from -> a stream of findings
//	                    about the answers, if Prepare asked for it
//	GrantSessions       how many sessions are held beside the load, and how they end -> all are
//	                    granted, and renewed from then on
//	HoldSessions        nothing -> their holders have died, and the sessions have ended
//	EndSessions         nothing -> what became of them; those that are left are ended
//	StopLoad            nothing more is issued, in this step or at all, and the stream of Run
//	                    completes
//	CloseLoad           the generator is free
//
// An agent may have a member and a part of a load at once, for example on one machine for a test.
// Both then share the machine, and Prepare's answer says so.
package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// DefaultLease is the time a session lives without a verb from its run.
const DefaultLease = tenant.DefaultLease

// New returns a generator without a session.
func New(opts Options) (*Server, error) {
	if opts.Registry == nil {
		return nil, errors.New("a generator needs a registry of databases")
	}
	if opts.Lease == 0 {
		opts.Lease = DefaultLease
	}
	if opts.Machine == nil {
		opts.Machine = func() ([]byte, bool) { return nil, false }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s, nil
}

// Register adds the generator service to r, whose options must turn a panic in a verb into an
// error.
func (s *Server) Register(r grpc.ServiceRegistrar) { pb.RegisterGeneratorServer(r, service{server: s}) }

// Close ends the session and waits until its connections are closed. If ctx ends first,
// Close returns its error, and may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(errClosed)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.wg.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close generator: %w", ctx.Err())
	}
}

var _ pb.GeneratorServer = service{}

// errNotAllowed refuses every verb if the agent was started without loads.
var errNotAllowed = status.Error(codes.PermissionDenied, "this agent does not issue loads: start it with dbtester agent --allow-load")

// errFree reports that no session is open.
var errFree = status.Error(codes.FailedPrecondition, "no load is prepared on this generator")

// own returns the session of the run and renews its lease. The error says why the run has no
// session.
func (s *Server) own(run string) (*session, error) {
	if !s.opts.Allowed {
		return nil, errNotAllowed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.session
	switch {
	case o == nil:
		return nil, errFree
	case o.Run != run:
		return nil, o.refusal(codes.PermissionDenied)
	case o.ctx.Err() != nil:
		return nil, o.over()
	}
	o.Alive = time.Now()
	return o, nil
}

// GeneratorHeartbeat renews the lease and returns time stamps.
func (v service) GeneratorHeartbeat(_ context.Context, req *pb.GeneratorHeartbeatRequest) (*pb.GeneratorHeartbeatResponse, error) {
	received := time.Now()
	s, err := v.server.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	s.lose(req.GetLostMembers())
	resp := &pb.GeneratorHeartbeatResponse{ReceivedUnixNs: s.clock.at(received).UnixNano(), State: s.state(), ClockSetNs: int64(s.clock.set())}
	resp.RepliedUnixNs = s.clock.now().UnixNano()
	return resp, nil
}

// StopLoad stops issuing requests, for the load or for the running step.
func (v service) StopLoad(_ context.Context, req *pb.StopLoadRequest) (*pb.StopLoadResponse, error) {
	s, err := v.server.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	if req.GetStep() {
		s.endStep()
	} else {
		s.stopIssuing()
	}
	return &pb.StopLoadResponse{}, nil
}

// CloseLoad ends the session.
func (v service) CloseLoad(ctx context.Context, req *pb.CloseLoadRequest) (*pb.CloseLoadResponse, error) {
	if !v.server.opts.Allowed {
		return nil, errNotAllowed
	}
	v.server.mu.Lock()
	s := v.server.session
	var err error
	if s != nil && s.Run != req.GetRunId() {
		err = s.refusal(codes.PermissionDenied)
	}
	v.server.mu.Unlock()
	if s == nil || err != nil {
		return &pb.CloseLoadResponse{}, err
	}
	s.end(errAsked)
	if err := s.wait(ctx); err != nil || s.ended == nil {
		return &pb.CloseLoadResponse{}, err
	}
	data, err := json.Marshal(s.ended)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "encode the sessions of the load: %v", err)
	}
	return &pb.CloseLoadResponse{Sessions: data}, nil
}
