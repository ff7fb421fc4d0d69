package agent

import (
	"context"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/fault/owndisk"
)

// fileDisk is the file of a member's own disk, in the session directory.
const fileDisk = "disk.img"

// makeDisk mounts a disk of its own at the member's directory, if the agent has such disks. It
// is on record before.
func (l life) makeDisk() error {
	s, p := l.s, l.p
	if s.agent.diskBytes == 0 {
		return nil
	}
	d := owndisk.Disk{Image: filepath.Join(s.agent.opts.WorkDir, p.dir, fileDisk), Point: p.member.Dir}
	s.agent.mu.Lock()
	s.now.disk = &d
	s.agent.mu.Unlock()
	if err := s.writeRecord(); err != nil {
		return err
	}
	return owndisk.Make(s.ctx, d, s.agent.diskBytes)
}

// removeDisk unmounts the member's own disk, if it has one. Its file goes with the session's
// directory.
func (l life) removeDisk() {
	if d, ok := l.s.ownDisk(); ok {
		// Not the session's context, which has ended: this has a bound of its own.
		if err := d.Unmount(context.Background()); err != nil {
			l.s.problem("the member's own disk was not unmounted", err)
		}
	}
}

// age puts on the member's own disk, once, what was written until the member was ready: its
// configuration, and what a store writes at its first start. A kernel leaves that in its cache for
// up to half a minute, and a power failure in that time would end a cluster of a minute's age in
// ways in which it ends no other.
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

// ownDisk is the disk of the session's member, if it has one of its own.
func (s *session) ownDisk() (owndisk.Disk, bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if s.now.disk == nil {
		return owndisk.Disk{}, false
	}
	return *s.now.disk, true
}

// Disk is the method of [fault.Victim].
func (a *attended) Disk() (owndisk.Disk, bool) { return a.s.ownDisk() }
