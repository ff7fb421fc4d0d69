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
