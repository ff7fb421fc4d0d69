package agent

import (
	"cmp"
	"context"
	"path/filepath"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
)

// fileDisk is the file that holds the member's own disk, in the session directory.
const fileDisk = "disk.img"

// holdDisk locks the disk the user has mounted for the member, if there is one.
func (a *Agent) holdDisk() (err error) {
	if a.planner.own.Dir == "" {
		return nil
	}
	if err := owndisk.CheckDir(a.planner.own.Dir, a.opts.WorkDir); err != nil {
		return err
	}
	a.diskHold, err = owndisk.Hold(a.planner.own.Dir)
	return err
}

// memberDir returns the folder for the member files, given a session directory.
func (a *planner) memberDir(session string) string {
	if a.own.Dir != "" {
		return owndisk.In(a.own.Dir).Point
	}
	return a.inFile(session).Point
}

// inFile returns the disk in a file that a member has in this session directory with "loop:SIZE".
func (a *planner) inFile(session string) owndisk.Disk {
	dir := filepath.Join(a.opts.WorkDir, session)
	return owndisk.Disk{Image: filepath.Join(dir, fileDisk), Point: filepath.Join(dir, dirData)}
}

// dataOn returns a directory on the file system that will hold the data.
func (a *planner) dataOn() string { return cmp.Or(a.own.Dir, a.opts.WorkDir) }

// allowsDisk returns why a fault cannot use the member's own disk.
func (a *planner) allowsDisk(k fault.Kind) error {
	switch {
	case a.own == owndisk.Own{}:
		return status.Errorf(codes.FailedPrecondition, "the fault %s needs a disk of the member's own, which may be filled or cut: start the agent with --disk loop:SIZE, such as --disk loop:2GiB, or for a full disk alone with --disk DIR", k.Name)
	case a.own.Dir == "":
		return nil
	case k.Cuts():
		return status.Errorf(codes.FailedPrecondition, "the fault %s needs a disk that the agent has mounted itself, got --disk %s, which could not be mounted again for sure: start the agent with --disk loop:SIZE", k.Name, a.own.Dir)
	}
	if err := owndisk.CheckDir(a.own.Dir, a.opts.WorkDir); err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return nil
}

// makeDisk gives the member's directory its own disk, if the agent has such disks. The disk is
// recorded first.
func (l life) makeDisk() error {
	s, p := l.s, l.p
	own := s.agent.planner.own
	if own == (owndisk.Own{}) {
		return nil
	}
	d := s.agent.planner.inFile(p.dir)
	if own.Dir != "" {
		if err := owndisk.CheckDir(own.Dir, s.agent.opts.WorkDir); err != nil { // it may have been unmounted
			return err
		}
		d = owndisk.In(own.Dir)
	}
	s.agent.mu.Lock()
	s.now.disk = &d
	s.agent.mu.Unlock()
	if err := s.writeRecord(); err != nil {
		return err
	}
	if own.Dir != "" {
		return d.MakeIn()
	}
	return owndisk.Make(s.ctx, d, own.Bytes)
}

// removeDisk unmounts the member's own disk, if it has one. The disk file goes with the session
// directory. On a disk the user has mounted, the member's folder is removed.
func (l life) removeDisk() {
	if d, ok := l.s.ownDisk(); ok {
		// Not the session context, which has ended: this has its own bound.
		if err := d.Unmount(context.Background()); err != nil {
			l.s.problem("the member's own disk was not given back", err)
		}
	}
}

// age syncs, once, what the member wrote on its own disk until it was ready: its configuration, and
// what a store writes when it first starts. A kernel keeps that in its cache for up to half a
// minute. A power failure in that time would end a cluster that is a minute old in ways in which it
// ends no other.
func (s *session) age() error {
	d, ok := s.ownDisk()
	s.agent.mu.Lock()
	due := ok && !s.now.older
	s.agent.mu.Unlock()
	if !due {
		return nil
	}
	if err := d.Sync(); err != nil {
		return err
	}
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.now.older = true
	return nil
}

// ownDisk returns the member's own disk in this session, if there is one.
func (s *session) ownDisk() (owndisk.Disk, bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if s.now.disk == nil {
		return owndisk.Disk{}, false
	}
	return *s.now.disk, true
}

// freeDisk releases d, which belonged to a session of an earlier agent.
func (a *Agent) freeDisk(l leftover, d owndisk.Disk) {
	// Only what a session in this directory can have had: records may have been edited.
	var err error
	switch {
	case d == a.planner.inFile(l.dir):
		err = d.Unmount(a.ctx)
	case d.Dir != "" && d == owndisk.In(d.Dir):
		err = d.Reclaim(d.Dir == a.planner.own.Dir) // the data stays until that disk is given again
	default:
		a.opts.Log.Warn("the disk of an earlier agent's session is not in its directory and is left alone", "disk", d)
	}
	if err != nil {
		a.opts.Log.Warn("the disk of an earlier agent's member was not given back", "error", err)
	}
}

// Disk implements [fault.Victim].
func (a *attended) Disk() (owndisk.Disk, bool) { return a.s.ownDisk() }
