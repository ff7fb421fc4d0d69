package agent

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/process/tap"
	"github.com/coreos/dbtester/pkg/results"
)

// Fault applies a fault to the member. A repeated request gets the same answer.
func (v service) Fault(ctx context.Context, req *pb.FaultRequest) (*pb.FaultResponse, error) {
	s, err := v.agent.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	asked := req.GetFault()
	r := fault.Record{ID: req.GetId(), Kind: asked.GetKind(), Parameters: asked.GetParameters(), For: time.Duration(req.GetForNs())}
	if tenant.CheckRun(r.ID) != nil || r.For > longestFault {
		return nil, status.Errorf(codes.InvalidArgument, "a fault needs an id of 1 to 64 letters, digits, - and _, and lasts at most %v; got %q and %v", longestFault, r.ID, r.For)
	}
	if err := v.agent.planner.allowsFault(r); err != nil {
		return nil, err
	}
	return s.change(ctx, &change{record: r})
}

// Heal undoes a fault, or returns the outcome if it is already over.
func (v service) Heal(ctx context.Context, req *pb.HealRequest) (*pb.FaultResponse, error) {
	s, err := v.agent.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	if r, ok := s.fault(req.GetId()); ok && !r.Over.IsZero() {
		return s.faultMessage(r) // also after the session has ended
	}
	return s.change(ctx, &change{record: fault.Record{ID: req.GetId()}, undo: true})
}

// The cost of a tap is measured by so many calls with it and without, within this time.
const (
	tapCalls = 200
	tapLimit = 2 * time.Second
)

// tapCost measures the time that calls of the member will wait for the tap; nil without a tap.
func (l life) tapCost() *results.TapCost {
	if l.p.tap == nil {
		return nil
	}
	cost, err := measureTap(l.s.ctx, l.p.tap, l.p.member.Dir)
	if err != nil {
		l.s.log.Warn("the cost of the tap was not measured", "error", err)
		return nil
	}
	return &results.TapCost{N: cost.N, With: cost.With, Without: cost.Without}
}

// measureTap measures the cost of t on the disk that holds dir.
func measureTap(ctx context.Context, t *tap.Tap, dir string) (cost tap.Cost, err error) {
	probe, err := sysmetrics.NewFsyncProbe(dir)
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, probe.Close()) }()
	return t.Cost(ctx, tapCalls, tapLimit, probe.Append)
}

// change has the session goroutine carry out a change, and waits for it. If the call ends early,
// the change is still carried out.
func (s *session) change(ctx context.Context, c *change) (*pb.FaultResponse, error) {
	if state := s.snapshot().state; state != pb.State_STATE_RUNNING {
		return nil, status.Errorf(codes.FailedPrecondition, "the session must be running for a fault; it is %s", stateWord(state))
	}
	c.done = make(chan changed, 1)
	select {
	case s.changes <- c:
	case <-s.ctx.Done():
		return nil, s.abortedChange()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	select {
	case did := <-c.done:
		if did.err != nil {
			return nil, did.err
		}
		return s.faultMessage(did.record)
	case <-s.ended:
		return nil, s.abortedChange()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// abortedChange is the answer to a change if the session ends first.
func (s *session) abortedChange() error {
	return status.Errorf(codes.Aborted, "the session stopped: %s", s.reason())
}

// faultMessage returns the outcome of r as a message.
func (s *session) faultMessage(r fault.Record) (*pb.FaultResponse, error) {
	release, err := s.upgradeOf(r)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	m := &pb.FaultResponse{Saw: r.Saw, SawOver: r.SawOver, Failed: r.Failed, Release: release}
	if !r.Applied.IsZero() {
		m.AppliedUnixNs = r.Applied.UnixNano()
	}
	if !r.Over.IsZero() {
		m.OverUnixNs = r.Over.UnixNano()
	}
	return m, nil
}
