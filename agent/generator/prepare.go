package generator

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/selfcheck"
	"github.com/coreos/dbtester/pkg/results"
)

// Prepare opens a session. It is refused while another run has one.
func (v service) Prepare(ctx context.Context, req *pb.PrepareRequest) (*pb.PrepareResponse, error) {
	s := v.server
	if !s.opts.Allowed {
		return nil, errNotAllowed
	}
	if req.GetVersion() != s.opts.Version {
		return nil, status.Errorf(codes.FailedPrecondition, "this generator is dbtester %s and control is %s: all parts of a load must have the same version", s.opts.Version, req.GetVersion())
	}
	p, err := planned(s.opts.Registry, req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := s.opts.Targets.check(req.GetEndpoints(), req.GetReserved()); err != nil {
		return nil, err
	}
	if err := s.opts.Secrets.check(req); err != nil {
		return nil, err
	}
	for {
		opened, old, err := s.open(ctx, req)
		if err != nil {
			return nil, err
		}
		if opened != nil {
			return opened.prepare(ctx, p, req)
		}
		if err := old.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// prepare reads and finds what the part needs on this machine. The session ends if that fails.
func (s *session) prepare(ctx context.Context, p *part, req *pb.PrepareRequest) (resp *pb.PrepareResponse, err error) {
	defer func() {
		if err != nil {
			s.end(fmt.Errorf("prepare: %w", err))
		}
		s.done(pb.LoadState_LOAD_STATE_PREPARED)
	}()
	if err := p.readCredentials(req); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	s.part = p
	s.show(req.GetTag())
	watch, err := s.watch(req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.issuer = issuer.New(issuer.Options{Database: p.database, Driver: p.driver, Locks: p.locks, Spec: p.spec, Event: s.event, Gone: s.allLost, Watch: watch})
	if err := s.sample(); err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "sample the generator's machine: %v", err)
	}
	resp = &pb.PrepareResponse{Version: s.server.opts.Version, LeaseNs: int64(s.server.opts.Lease)}
	resp.Host, resp.Member = s.server.opts.Machine()
	if req.GetSelfCheck() {
		resp.SelfCheck, err = s.selfCheck(ctx)
	}
	return resp, err
}

// selfCheck measures what this machine adds to the latencies of its part. A failed check gives the
// reason in its result.
func (s *session) selfCheck(ctx context.Context) ([]byte, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	check := &results.LoadCheck{Unavailable: "this generator has no server for its self-check"}
	if len(s.server.opts.Mirror) > 0 {
		var err error
		check, err = selfcheck.CheckLoad(ctx, selfcheck.LoadOptions{
			Server: s.server.opts.Mirror, Database: s.part.database, Driver: s.part.driver, Load: s.part.own(), Seed: s.part.spec.Seed,
			Secured: s.part.target.TLS != nil || s.part.target.Auth != nil,
		})
		if err != nil {
			return nil, status.Errorf(codes.Aborted, "self-check: %v", err)
		}
	}
	data, err := json.Marshal(check)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "encode the self-check: %v", err)
	}
	return data, nil
}
