package agent

import (
	"context"
	"fmt"
	"strconv"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// groupingOf returns the group a request asks for.
func groupingOf(req *pb.StartRequest) (grouping, error) {
	asked, err := pb.ReadRecord[resources.Limits]("limits", req.GetLimits())
	if err != nil {
		return grouping{}, err
	}
	g := grouping{run: pb.RunHash(req.GetRunId())[:16], tag: req.GetTag()}
	g.name = g.nameOf(int(req.GetIndex()))
	if asked != nil {
		g.limits = *asked
	}
	if err := g.limits.Check(); err != nil {
		return g, fmt.Errorf("limits: %w", err)
	}
	return g, nil
}

// nameOf returns the group name of a member. Members count from 0.
func (g grouping) nameOf(member int) string { return g.tag + "-" + strconv.Itoa(member+1) }

// facts returns the machine resources a member with the limits can use.
func (g grouping) facts(memory int64) database.HostFacts {
	f := database.HostFacts{MemoryBytes: memory}
	if most := g.limits.MemoryBytes; most > 0 && (memory == 0 || most < memory) {
		f.MemoryBytes = most
	}
	return f
}

// limit puts the limits into the commands' environment, unless a command's own environment has
// another value.
func (g grouping) limit(plan *database.Plan) {
	commands := make([]database.Command, len(plan.Commands))
	for i, c := range plan.Commands {
		c.Env = append(g.limits.Env(), c.Env...)
		commands[i] = c
	}
	plan.Commands = commands
}

// find finds where the group can be made, and tests it: it makes a group and removes it, and may
// first move this process to another group. The caller must wait for it.
func (g *grouping) find() error {
	if !g.limits.Any() && !g.apart {
		return nil
	}
	find := cgroup.Find
	if g.apart {
		find = cgroup.FindUnified
	}
	parent, err := find(g.limits)
	if err == nil {
		err = parent.Check(g.run, g.name, g.limits)
	}
	switch {
	case err != nil && !g.limits.Any():
		return status.Errorf(codes.FailedPrecondition, "the members on this machine cannot be told apart, which needs control groups of version 2: %v", err)
	case err != nil:
		return status.Errorf(codes.FailedPrecondition, "the member cannot be limited to %s on this machine: %v", g.limits, err)
	}
	g.parent = parent
	return nil
}

// dirs are the group directories, even before it is made.
func (g *grouping) dirs() []string {
	if g.parent == nil {
		return nil
	}
	return g.parent.Dirs(g.run, g.name)
}

// limited are the group directories if it has limits.
func (g *grouping) limited() []string {
	if !g.limits.Any() {
		return nil
	}
	return g.dirs()
}

// makeGroup makes the member group, if the member needs one. The record already names it.
func (l life) makeGroup() (err error) {
	if g := &l.p.grouping; g.parent != nil {
		g.group, err = g.parent.Make(g.run, g.name, g.limits)
	}
	return err
}

// removeGroup records the resource use of the member, and removes its group with all that still
// runs in it.
func (l life) removeGroup() {
	s, group := l.s, l.p.grouping.group
	if group == nil {
		return
	}
	if l.p.grouping.limits.Any() {
		use := group.Use()
		s.agent.mu.Lock()
		s.now.use = &use
		s.agent.mu.Unlock()
	}
	// Not s.ctx, which has ended: the removal has its own bound.
	if err := group.Remove(context.Background()); err != nil {
		s.problem("the member's control group was not removed", err)
	}
}

// place has the member's commands start in the group, and under the tap.
func (l life) place(o *member.Options) {
	group, t := l.p.grouping.group, l.p.tap
	switch {
	case group != nil && t != nil:
		o.Place = func(attr *syscall.SysProcAttr) (leave func() error, err error) {
			leave, err = group.Place(attr)
			if err == nil {
				_, err = t.Place(attr) // its leave does nothing
			}
			return leave, err
		}
	case group != nil:
		o.Place = group.Place
	case t != nil:
		o.Place = t.Place
	}
}

// killedByLimit reports whether the kernel killed a member process because of its memory limit.
func (l life) killedByLimit() bool {
	group := l.p.grouping.group
	return group != nil && group.Use().OOMKills > 0
}

// memoryLimit is the reason for the end of a member that its limit killed.
func (l life) memoryLimit() reason {
	return reason(pb.ReasonMemoryLimit + l.p.grouping.limits.MemoryText())
}

// explained adds to err that the memory limit caused it.
func (l life) explained(err error) error {
	if !l.killedByLimit() {
		return err
	}
	return fmt.Errorf("it was %w: %w", l.memoryLimit(), err)
}

// deathReason returns why a session ended after its child died.
func (l life) deathReason(m *member.Member) reason {
	for _, c := range m.Children() {
		if !c.Running && c.Exit.Signal == "SIGKILL" && l.killedByLimit() {
			return l.memoryLimit()
		}
	}
	return reasonChildDied
}
