package agent

import (
	"slices"
	"strings"

	pb "github.com/coreos/dbtester/dbtesterpb"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent/tenant"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/process/tap"
)

// allowsFaults returns why the member cannot have the faults that req announces.
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

// announces reports whether req announces a fault for which needs is true.
func announces(req *pb.StartRequest, needs func(fault.Kind, fault.Record) bool) bool {
	return slices.ContainsFunc(req.GetFaults(), func(f *pb.FaultKind) bool {
		r := fault.Record{Kind: f.GetKind(), Parameters: f.GetParameters()}
		k, err := fault.Find(r.Kind)
		return err == nil && needs(k, r)
	})
}

// tapOf returns the tap the announced faults need, or nil.
func tapOf(req *pb.StartRequest) *tap.Tap {
	if announces(req, fault.Kind.NeedsTap) {
		return tap.New()
	}
	return nil
}

// shares reports whether a start announces faults that must tell this machine's members apart, and
// there are others.
func shares(req *pb.StartRequest, m database.Member) bool {
	return announces(req, fault.Kind.SharesGroups) && sharesMachine(m)
}
