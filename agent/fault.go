package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Bounds on what a control can make an agent remember.
const (
	maxFaults     = 10_000
	maxParameters = 4 << 10 // bytes
	maxPlace      = 512     // bytes
	longestFault  = 24 * time.Hour
)

// change asks the session's goroutine to apply a fault, or to undo the fault of an id.
type change struct {
	record fault.Record
	undo   bool
	done   chan changed // has room for the one answer
}

// changed is the answer to a change.
type changed struct {
	record fault.Record
	err    error
}

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

// Heal undoes a fault of the member, or returns the outcome of one that is over.
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

// allowsFault returns why a fault is not allowed on this machine.
func (a *planner) allowsFault(r fault.Record) error {
	if len(r.Parameters) > maxParameters {
		return status.Errorf(codes.InvalidArgument, "the parameters of a fault have more than %d bytes", maxParameters)
	}
	k, err := fault.Check(r)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if !slices.Contains(a.opts.AllowFaults, k.Name) {
		allowed := "none"
		if len(a.opts.AllowFaults) > 0 {
			allowed = strings.Join(a.opts.AllowFaults, ", ")
		}
		return status.Errorf(codes.PermissionDenied, "this agent may not apply the fault %s (allowed: %s): start it with dbtester agent --allow-faults %s", k.Name, allowed, k.Name)
	}
	if k.NeedsDisk(r) {
		if err := a.allowsDisk(k); err != nil {
			return err
		}
	}
	if err := k.Possible(); err != nil {
		return status.Errorf(codes.FailedPrecondition, "this machine cannot have the fault %s: %v", k.Name, err)
	}
	return nil
}

// allowsFaults returns why a member cannot have the faults that a start announces.
func (a *planner) allowsFaults(req *pb.StartRequest) error {
	for _, k := range req.GetFaults() {
		if err := a.allowsFault(fault.Record{Kind: k.GetKind(), Parameters: k.GetParameters()}); err != nil {
			if place := k.GetPlace(); place != "" && tenant.Printable(place, maxPlace) {
				return status.Errorf(status.Code(err), "%s: %s", place, status.Convert(err).Message())
			}
			return err
		}
	}
	return nil
}

// announces reports whether a start announces a fault that needs something.
func announces(req *pb.StartRequest, needs func(fault.Kind, fault.Record) bool) bool {
	return slices.ContainsFunc(req.GetFaults(), func(f *pb.FaultKind) bool {
		r := fault.Record{Kind: f.GetKind(), Parameters: f.GetParameters()}
		k, err := fault.Find(r.Kind)
		return err == nil && needs(k, r)
	})
}

// tapOf returns the tap that the announced faults need, nil for none.
func tapOf(req *pb.StartRequest) *tap.Tap {
	if announces(req, fault.Kind.NeedsTap) {
		return tap.New()
	}
	return nil
}

// The cost of a tap is measured by so many calls with it and without, within this time.
const (
	tapCalls = 200
	tapLimit = 2 * time.Second
)

// tapCost measures what the member's calls will wait for the tap; nil without a tap.
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

// measureTap measures the cost of a tap on the disk of a directory.
func measureTap(ctx context.Context, t *tap.Tap, dir string) (cost tap.Cost, err error) {
	probe, err := sysmetrics.NewFsyncProbe(dir)
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, probe.Close()) }()
	return t.Cost(ctx, tapCalls, tapLimit, probe.Append)
}

// change has the session's goroutine carry out a change, and waits for it. If the call ends
// early, the change is still carried out.
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

// fault returns the fault of an id.
func (s *session) fault(id string) (fault.Record, bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if i := slices.IndexFunc(s.now.faults, func(r fault.Record) bool { return r.ID == id }); i >= 0 {
		return s.now.faults[i], true
	}
	return fault.Record{}, false
}

// noteFault replaces the record of a fault.
func (s *session) noteFault(r fault.Record) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	faults := slices.Clone(s.now.faults) // others may be writing the record
	if i := slices.IndexFunc(faults, func(o fault.Record) bool { return o.ID == r.ID }); i >= 0 {
		faults[i] = r
	} else {
		faults = append(faults, r)
	}
	s.now.faults = faults
}

// lasting returns the faults that are not over.
func (s *session) lasting() []fault.Record {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.now.faults), func(r fault.Record) bool { return !r.Over.IsZero() })
}

// lately returns the faults that ended a moment ago.
func (s *session) lately() []fault.Record {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.now.faults), func(r fault.Record) bool { return time.Since(r.Over) > aftermath })
}

// isDown reports whether a fault ended the member.
func (s *session) isDown() bool {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return s.now.down
}

func (s *session) setDownFlag(down bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.now.down = down
}

// faultMessage returns the outcome of a fault as a message.
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

// tooMany refuses a fault beyond the bound.
func tooMany() error {
	return status.Error(codes.ResourceExhausted, fmt.Sprintf("the session has had %d faults already", maxFaults))
}
