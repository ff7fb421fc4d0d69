package agent

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/fault"
)

// upgraded plans a member with each release an announced fault starts it with, by the version in
// the fault. The plans differ only in executables: their files and directories are those the first
// start wrote.
func (a *planner) upgraded(req *pb.StartRequest, p *planned) (map[string]*planned, error) {
	var upgrades map[string]*planned
	for _, f := range req.GetFaults() {
		version, err := fault.Record{Parameters: f.GetParameters()}.Version()
		if err != nil || version == "" || upgrades[version] != nil {
			continue // the parameters were checked before
		}
		next, err := a.upgrade(req, p, version)
		if err != nil {
			if place := f.GetPlace(); place != "" && tenant.Printable(place, maxPlace) {
				return nil, status.Errorf(status.Code(err), "%s: %s", place, status.Convert(err).Message())
			}
			return nil, err
		}
		if upgrades == nil {
			upgrades = map[string]*planned{}
		}
		upgrades[version] = next
	}
	return upgrades, nil
}

// upgrade plans a member with another release.
func (a *planner) upgrade(req *pb.StartRequest, p *planned, version string) (*planned, error) {
	other := proto.CloneOf(req)
	other.Version = version
	next := *p
	var err error
	if next.tools, err = a.tools(p.db, other); err != nil {
		return nil, err
	}
	if next.tools.given {
		return nil, status.Errorf(codes.FailedPrecondition, "this agent runs the executable that it was given, whatever the version: it cannot start %s %s", p.db.Name, database.PlainVersion(version))
	}
	next.member.Tools = next.tools.paths
	if next.plan, err = p.driver.Plan(next.member); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "plan member %d of %s %s: %v", p.member.Index, p.db.Name, version, err)
	}
	p.grouping.limit(&next.plan)
	if next.argv, err = a.commands(next.plan, next.tools.paths); err != nil {
		return nil, err
	}
	if !slices.Equal(next.plan.Files, p.plan.Files) || !slices.EqualFunc(next.plan.Commands, p.plan.Commands, sameName) {
		return nil, status.Errorf(codes.FailedPrecondition, "%s %s needs other files or commands than the member has: it cannot be started on its data", p.db.Name, version)
	}
	return &next, nil
}

func sameName(a, b database.Command) bool { return a.Name == b.Name }

// upgradeOf returns the release with which a fault has started the member, as results record it, or
// nil.
func (s *session) upgradeOf(r fault.Record) (release []byte, err error) {
	version, err := r.Version()
	if err != nil || version == "" {
		return nil, nil
	}
	s.agent.mu.Lock()
	p := s.now.planned
	s.agent.mu.Unlock()
	if p == nil || p.upgrades[version] == nil || p.upgrades[version].tools.release == nil {
		return nil, nil
	}
	return pb.Record("the release", releaseOf(p.upgrades[version].tools.release))
}
