package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/environment"
	"github.com/coreos/dbtester/pkg/results"
)

// prepare plans the requested member and checks that it could run here and now, apart from limits.
// It has no effects.
func (s *session) prepare(req *pb.StartRequest) (*planned, error) {
	a := s.agent
	if err := a.checkWorkDir(); err != nil {
		return nil, err
	}
	p, err := a.planner.plan(req)
	if err != nil {
		return nil, err
	}
	if err := member.Check(s.ctx, p.checkable(life{s, p}.memberOptions())); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return p, nil
}

// measurable finds the sources to sample for a planned member, and the facts about its disk. It has
// no effects.
func (s *session) measurable(p *planned) (err error) {
	a := s.agent
	dir := a.planner.dataOn()
	p.sampler, err = sysmetrics.NewSampler(sysmetrics.Options{
		PIDs:      s.pids,
		Tree:      true,
		Dir:       dir,
		Device:    a.opts.Device,
		Interface: a.opts.Interface,
		Addr:      p.member.Self().Addr,
		Clients:   s.clients.Load,
		Period:    p.period,
		Group:     p.grouping.limited(),
		Streams:   p.plan.Streams,
		Members:   len(p.member.Hosts),
	})
	if err != nil {
		return status.Errorf(codes.FailedPrecondition, "sample this machine: %v", err)
	}
	if p.disk, err = sysmetrics.DiskFacts(dir); err != nil {
		s.log.Warn("file system of the data is unknown", "error", err)
	}
	p.free = sysmetrics.FreeBytes(dir)
	return nil
}

// checkWorkDir returns an error if the work directory was removed or replaced since the agent
// opened it: files written there would be lost.
func (a *Agent) checkWorkDir() error {
	opened, err := a.root.Stat(".")
	if err != nil {
		return status.Errorf(codes.FailedPrecondition, "work directory %q: %v", a.opts.WorkDir, err)
	}
	if now, err := os.Stat(a.opts.WorkDir); err != nil || !os.SameFile(opened, now) {
		return status.Errorf(codes.FailedPrecondition, "work directory %q was removed or replaced while the agent ran: restart the agent", a.opts.WorkDir)
	}
	return nil
}

// checkable returns the options to check. A release that is yet to be installed has no
// executables, so this program takes their place.
func (p *planned) checkable(o member.Options) member.Options {
	if !p.tools.pending {
		return o
	}
	o.Plan.Commands = slices.Clone(o.Plan.Commands)
	for i := range o.Plan.Commands {
		o.Plan.Commands[i].Self, o.Plan.Commands[i].Path = true, ""
	}
	return o
}

// conduct runs a planned member, from making its directory until its commands end. When it returns,
// nothing is running and the session's context has ended.
func (l life) conduct(t *attempt) {
	s, p := l.s, l.p
	if p.tap != nil {
		defer p.tap.Close() // the member has ended then
	}
	if err := l.makeDir(t.req); err != nil {
		s.fail(t, err)
		return
	}
	defer l.removeDisk()
	if err := l.makeDisk(); err != nil {
		s.fail(t, err)
		return
	}
	if err := l.makeGroup(); err != nil {
		s.fail(t, err)
		return
	}
	defer l.removeGroup()
	s.log.Info("member starts", "tag", p.tag, "database", p.db.Name, "member", p.member.Index+1, "tools", p.tools.paths, "dir", p.member.Dir)
	var err error
	if p.disk.FsyncP50, err = sysmetrics.FsyncP50(s.ctx, p.member.Dir); err != nil {
		s.log.Warn("fdatasync was not probed", "error", err)
	}
	p.disk.Tap = l.tapCost()
	// Sampling starts first, so that it covers the member's start.
	stopSampling, err := l.sample()
	if err != nil {
		s.fail(t, err)
		return
	}
	defer stopSampling()
	stopScraping, err := l.scrape()
	if err != nil {
		s.fail(t, err)
		return
	}
	defer stopScraping()
	defer l.boundLogs()()
	m, err := member.Start(s.ctx, l.memberOptions())
	if err != nil {
		s.fail(t, l.explained(err))
		return
	}
	l.running(m)
	t.answer(p.response(s.snapshot().childMessages(), environmentOf(s.log, m.Children())))

	m = l.attend(m)
	stopScraping() // while the member can still answer
	stopSampling() // while the kernel still counts for its processes
	l.stop(m)
}

// fail ends a session whose start failed, and answers the start.
func (s *session) fail(t *attempt, err error) {
	overtaken := s.ctx.Err() != nil
	s.end(reasonStartFailed)
	if overtaken {
		t.answer(nil, s.abortedStart())
		return
	}
	s.log.Warn("start failed", "tag", t.req.GetTag(), "error", err)
	t.answer(nil, status.Errorf(codes.Aborted, "start %s: %v", t.req.GetTag(), err))
}

// makeDir makes the session directory. The session owns it: Collect reads it and
// Close removes it.
func (l life) makeDir(req *pb.StartRequest) error {
	s, p := l.s, l.p
	root := s.agent.root
	if err := root.Mkdir(p.dir, 0o700); err != nil {
		return fmt.Errorf("make session directory: %w", err)
	}
	s.agent.mu.Lock()
	s.now.planned, s.now.tag, s.now.dir, s.now.files = p, p.tag, p.dir, p.files
	s.now.group = p.grouping.dirs()
	s.now.detached = req.GetDetached()
	s.agent.mu.Unlock()
	s.logTo(p.dir)
	s.setClients(int64(req.GetClients()))
	// A directory without a record would stay forever after a crash.
	if err := s.writeRecord(); err != nil {
		return err
	}
	data := filepath.Join(p.dir, dirData)
	if s.agent.planner.own.Dir != "" {
		return root.Symlink(p.member.Dir, data) // with which the disk of a killed agent is found
	}
	if err := root.Mkdir(data, 0o755); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	return nil
}

// sample starts sampling into the session directory. It returns after the first sample. The
// returned function takes one last sample and ends the sampling. It may be called more than once.
func (l life) sample() (stop func(), err error) {
	s, p := l.s, l.p
	w, err := results.NewSampleWriter(filepath.Join(s.agent.opts.WorkDir, p.dir, results.FileServer))
	if err != nil {
		return nil, fmt.Errorf("write samples: %w", err)
	}
	// Not s.ctx: samples are taken until the member is stopped.
	ctx, cancel := context.WithCancel(context.Background())
	done := p.sampler.Start(ctx, seenSamples{w, &s.newest})
	return sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, w.Close()); err != nil {
			s.problem("some samples are missing", err)
		}
	}), nil
}

// seenSamples writes samples, and keeps the newest for heartbeats.
type seenSamples struct {
	*results.SampleWriter
	newest *atomic.Pointer[results.Sample]
}

func (w seenSamples) Write(s results.Sample) error {
	w.newest.Store(&s)
	return w.SampleWriter.Write(s)
}

// stop ends the children and measures the data directories.
func (l life) stop(m *member.Member) {
	s := l.s
	s.set(pb.State_STATE_STOPPING)
	s.record()
	// Not s.ctx, which has ended: the deadlines bound the stop.
	if err := m.Stop(context.Background(), s.agent.opts.Deadlines); err != nil {
		s.log.Error("children outlived the stop", "error", err)
	}
	left, err := m.Measure()
	if err != nil {
		s.problem("data directories were not measured", err)
		return
	}
	s.agent.mu.Lock()
	s.now.sizes = sizes{apparent: left.Apparent, allocated: left.Allocated}
	s.agent.mu.Unlock()
}

// pids returns the children to sample: those that were spawned and still run. It leaves out a
// process that later got the number of a child.
func (s *session) pids() []int {
	s.agent.mu.Lock()
	spawned := s.now.spawned
	s.agent.mu.Unlock()
	var pids []int
	for _, c := range spawned {
		if process.Alive(c.Pid, c.StartTicks) {
			pids = append(pids, c.Pid)
		}
	}
	return pids
}

// response returns the answer to a Start with these children and their environment.
func (p *planned) response(children []*pb.Child, env []environment.Facts) (*pb.StartResponse, error) {
	resp := &pb.StartResponse{Children: children, Dir: p.member.Dir, FreeBytes: p.free, NetworkInterface: p.sampler.Interface()}
	disk := p.disk
	disk.Device = p.sampler.Device()
	var errs [5]error
	resp.Plan, errs[0] = p.planMessage()
	resp.Disk, errs[1] = pb.Record("the disk", disk)
	if p.tools.release != nil {
		resp.Release, errs[2] = pb.Record("the release", releaseOf(p.tools.release))
	}
	if p.grouping.limits.Any() {
		resp.Limits, errs[3] = pb.Record("limits", p.grouping.limits)
	}
	if len(env) > 0 {
		resp.Environment, errs[4] = pb.Record("the environment", env)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return resp, nil
}
