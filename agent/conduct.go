package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sysmetrics"
)

// tailLines is how much a child that died unasked is quoted.
const tailLines = 20

// prepare plans the member of a request and checks that it could run here and
// now. It touches nothing.
func (s *session) prepare(req *pb.StartRequest) (*planned, error) {
	a := s.agent
	p, err := a.plan(req)
	if err != nil {
		return nil, err
	}
	if err := member.Check(s.ctx, p.checkable(s.memberOptions(p))); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	// The data directory will be below the work directory, so on its file system.
	p.sampler, err = sysmetrics.NewSampler(sysmetrics.Options{
		PIDs:      s.pids,
		Tree:      true,
		Dir:       a.opts.WorkDir,
		Device:    a.opts.Device,
		Interface: a.opts.Interface,
		Addr:      p.member.Self().Addr,
		Clients:   s.clients.Load,
	})
	if err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "sample this machine: %v", err)
	}
	if p.filesystem, _, err = sysmetrics.Filesystem(a.opts.WorkDir); err != nil {
		s.log.Warn("file system of the work directory is unknown", "error", err)
	}
	return p, nil
}

// checkable returns the options to check. Of a release that is still to be
// installed there are no executables to look for; this program stands in.
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

// conduct runs a planned member, from the making of its directory to the last
// sample of its machine. It returns with nothing running and the session's
// context ended.
func (s *session) conduct(p *planned, t *attempt) {
	if err := s.makeDir(p, t.req); err != nil {
		s.fail(t, err)
		return
	}
	fsync, err := sysmetrics.FsyncP50(s.ctx, p.member.Dir)
	if err != nil {
		s.log.Warn("fdatasync was not probed", "error", err)
	}
	// Sampling goes first and ends last, so that it covers the member's whole life.
	stopSampling, err := s.sample(p)
	if err != nil {
		s.fail(t, err)
		return
	}
	defer stopSampling()
	m, err := member.Start(s.ctx, s.memberOptions(p))
	if err != nil {
		s.fail(t, err)
		return
	}
	s.running(m)
	resp, err := p.response(s.childMessages())
	if err == nil {
		resp.FdatasyncP50Ns = fsync.Nanoseconds()
	}
	t.answer(resp, err)

	select {
	case <-s.ctx.Done():
	case <-m.Done():
		s.quoteDead(m)
		s.end(reasonChildDied)
	}
	s.stop(m)
}

// fail ends a session whose start came to nothing and says why.
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

// makeDir makes the session directory, which from then on is the session's to
// collect from and to remove.
func (s *session) makeDir(p *planned, req *pb.StartRequest) error {
	root := s.agent.root
	if err := root.Mkdir(p.dir, 0o755); err != nil {
		return fmt.Errorf("make session directory: %w", err)
	}
	s.agent.mu.Lock()
	s.planned, s.tag, s.dir, s.files = p, p.tag, p.dir, p.files
	s.detached = req.GetDetached()
	s.agent.mu.Unlock()
	s.setClients(int64(req.GetClients()))
	// A directory without a record would be nobody's after a crash.
	if err := s.writeRecord(); err != nil {
		return err
	}
	if err := root.Mkdir(filepath.Join(p.dir, dirData), 0o755); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	return nil
}

// memberOptions is how the plan is executed. The record, which is on disk before
// the first child, knows each child as soon as it is spawned.
func (s *session) memberOptions(p *planned) member.Options {
	return member.Options{
		Plan:   p.plan,
		Dir:    p.member.Dir,
		LogDir: filepath.Join(s.agent.opts.WorkDir, p.dir, results.DirLogs),
		Self:   s.agent.opts.Self,
		Spawned: func(children []member.Child) error {
			s.agent.mu.Lock()
			s.spawned = children
			s.agent.mu.Unlock()
			return s.writeRecord()
		},
	}
}

// sample starts sampling into the session directory. The returned function ends
// it after one last sample.
func (s *session) sample(p *planned) (stop func(), err error) {
	w, err := results.NewSampleWriter(filepath.Join(s.agent.opts.WorkDir, p.dir, results.FileServer))
	if err != nil {
		return nil, fmt.Errorf("write samples: %w", err)
	}
	// Not s.ctx: samples are taken until the member has stopped.
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.sampler.Run(ctx, w) }()
	return func() {
		cancel()
		if err := errors.Join(<-done, w.Close()); err != nil {
			s.log.Warn("some samples are missing", "error", err)
		}
	}, nil
}

// running marks the member as running.
func (s *session) running(m *member.Member) {
	s.agent.mu.Lock()
	s.member = m
	s.state = pb.State_STATE_RUNNING
	tag := s.tag
	s.agent.mu.Unlock()
	s.record()
	s.log.Info("member runs", "tag", tag, "pids", m.Pids())
}

// stop ends the children and measures what they left.
func (s *session) stop(m *member.Member) {
	s.set(pb.State_STATE_STOPPING)
	s.record()
	// Not s.ctx, which has ended: the deadlines bound the stop.
	if err := m.Stop(context.Background(), s.agent.opts.Deadlines); err != nil {
		s.log.Error("children outlived the stop", "error", err)
	}
	left, err := m.Measure()
	if err != nil {
		s.log.Warn("data directories were not measured", "error", err)
		return
	}
	s.agent.mu.Lock()
	s.sizes = sizes{apparent: left.Apparent, allocated: left.Allocated}
	s.agent.mu.Unlock()
}

// quoteDead keeps the last log lines of the children that have ended, before
// others are stopped.
func (s *session) quoteDead(m *member.Member) {
	tails := map[string]string{}
	for _, c := range m.Children() {
		if c.Running {
			continue
		}
		tail, err := process.Tail(c.Log, tailLines)
		if err != nil {
			tail = err.Error()
		}
		tails[c.Name] = tail
		s.log.Warn("child died", "child", c.Name, "exit", c.Exit.String())
	}
	s.agent.mu.Lock()
	s.tails = tails
	s.agent.mu.Unlock()
}

// pids are the children to sample. Each is one that was spawned, and not a
// stranger that has its number by now.
func (s *session) pids() []int {
	s.agent.mu.Lock()
	spawned := s.spawned
	s.agent.mu.Unlock()
	var pids []int
	for _, c := range spawned {
		if process.Alive(c.Pid, c.StartTicks) {
			pids = append(pids, c.Pid)
		}
	}
	return pids
}

// response is the answer to a Start with these children.
func (p *planned) response(children []*pb.Child) (*pb.StartResponse, error) {
	plan, err := p.planMessage()
	if err != nil {
		return nil, status.Errorf(codes.Internal, "encode plan: %v", err)
	}
	return &pb.StartResponse{
		Plan:             plan,
		Children:         children,
		Dir:              p.member.Dir,
		DataFilesystem:   p.filesystem,
		DiskDevice:       p.sampler.Device(),
		NetworkInterface: p.sampler.Interface(),
		Release:          releaseMessage(p.tools.release),
	}, nil
}
