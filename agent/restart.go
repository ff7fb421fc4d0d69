package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/results"
)

// killTimeout bounds the wait until a leftover child has ended.
const killTimeout = 5 * time.Second

// recoverSession kills the children an earlier agent left running here. The last session becomes
// this agent's, stopped, so that it can still be collected from. Older directories, which a crash
// between two sessions leaves, are removed. A directory without a record is not a session's and
// stays.
func (a *Agent) recoverSession() error {
	left, err := a.leftovers()
	if err != nil || len(left) == 0 {
		return err
	}
	for _, l := range left {
		if err := a.endLeftover(l); err != nil {
			return err
		}
	}
	last := left[len(left)-1]
	for _, l := range left[:len(left)-1] {
		if err := a.remove(l.dir); err != nil {
			return err
		}
	}
	a.runs.Begin()
	a.session = a.recoveredSession(last)
	if slices.Contains(a.session.now.files, results.FileAgentLog) {
		a.session.logTo(last.dir)
	}
	a.session.record()
	a.opts.Log.Info("found the session of an earlier agent", "run", pb.RunHash(last.record.RunID), "tag", last.record.Tag, "was", last.record.State)
	return nil
}

// leftovers returns the session directories here, the oldest first.
func (a *Agent) leftovers() ([]leftover, error) {
	entries, err := fs.ReadDir(a.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list work directory: %w", err)
	}
	var left []leftover
	for _, e := range entries {
		data, err := a.root.ReadFile(e.Name() + "/" + fileRecord)
		if err != nil {
			continue
		}
		l := leftover{dir: e.Name()}
		if err := json.Unmarshal(data, &l.record); err != nil {
			// Records are replaced whole, so a broken one says nothing about the session.
			a.opts.Log.Warn("session with a broken record is removed", "dir", e.Name(), "error", err)
			if err := a.remove(e.Name()); err != nil {
				return nil, err
			}
			continue
		}
		if l.record.Format != recordFormat {
			a.opts.Log.Warn("session of another version of dbtester is left alone", "dir", e.Name())
			continue
		}
		left = append(left, l)
	}
	slices.SortFunc(left, func(x, y leftover) int { return x.record.Opened.Compare(y.record.Opened) })
	return left, nil
}

// endLeftover undoes the faults of the session, kills the children that still run, and removes
// their control group. Pids from another boot, or with other start ticks, belong to other
// processes, which it leaves alone.
func (a *Agent) endLeftover(l leftover) error {
	if l.record.BootID != a.bootID {
		return nil
	}
	if err := fault.Release(l.record.Faults); err != nil {
		a.opts.Log.Warn("a fault of an earlier agent was not undone", "error", err)
	}
	for _, c := range slices.Backward(l.record.Children) {
		if err := killLeftover(c.Pid, c.StartTicks); err != nil {
			return fmt.Errorf("end %s (pid %d) of an earlier agent: %w", c.Name, c.Pid, err)
		}
	}
	if d := l.record.Disk; d != nil {
		a.freeDisk(l, *d)
	}
	if err := cgroup.Remove(a.ctx, l.record.Group); err != nil {
		a.opts.Log.Warn("a control group of an earlier agent was left behind", "dirs", l.record.Group, "error", err)
	}
	return nil
}

// killLeftover kills the group of a process that is not our child, if the process started at those
// ticks, and waits until it has ended.
func killLeftover(pid int, ticks uint64) error {
	if pid <= 1 {
		return nil
	}
	fd, err := openProcess(pid)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process: %w", err)
	}
	defer unix.Close(fd)
	if !process.Alive(pid, ticks) {
		return nil
	}
	if err := unix.Kill(-pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process group: %w", err)
	}
	return awaitEnd(fd)
}

// awaitEnd waits until the process behind a descriptor has ended.
func awaitEnd(fd int) error {
	deadline := time.Now().Add(killTimeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("still running %s after SIGKILL", killTimeout)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for its end: %w", err)
		case n > 0:
			return nil
		}
	}
}

// recoveredSession returns the session of an earlier agent, stopped. Its lease has expired: its run
// may still collect, and the next Open may take the agent.
func (a *Agent) recoveredSession(l leftover) *session {
	r := l.record
	s := &session{
		agent: a,
		log:   a.opts.Log.With("run", pb.RunHash(r.RunID)),
		ended: make(chan struct{}),
		gone:  make(chan struct{}),
		now: sessionState{
			tenancy: tenancy{Tenant: tenant.Tenant{Run: r.RunID, Owner: r.Owner, Since: r.Opened, Alive: r.Opened}, expired: true},
			faulted: faulted{faults: r.Faults},
			remains: remains{sizes: sizes{apparent: r.ApparentBytes, allocated: r.AllocatedBytes}, exits: map[string]string{}},
			state:   pb.State_STATE_STOPPED,
			tag:     r.Tag,
			dir:     l.dir,
			files:   slices.DeleteFunc(r.Files, func(name string) bool { return !filepath.IsLocal(name) }),
			group:   r.Group,
		},
	}
	for _, c := range r.Children {
		s.now.spawned = append(s.now.spawned, member.Child{Name: c.Name, Pid: c.Pid, StartTicks: c.StartTicks, Argv: c.Argv})
		s.now.exits[c.Name] = c.Exit
	}
	s.ctx, s.end = context.WithCancelCause(a.ctx)
	s.kept, s.drop = context.WithCancelCause(a.ctx)
	why := reasonAgentRestarted
	if r.State == stateWord(pb.State_STATE_STOPPED) {
		why = reason(r.Reason)
	}
	s.end(why)
	close(s.ended)
	return s
}
