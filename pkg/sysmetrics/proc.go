package sysmetrics

import (
	"strconv"
	"strings"
)

// identity names a process for as long as the machine is up: its pid may be
// given to another process, but not with the same start.
type identity struct {
	pid   int
	start uint64 // ticks since boot
}

// proc is one process, as last read.
type proc struct {
	id       identity
	stat     stat
	status   status
	own      int64 // CPU ticks of its threads
	waited   tally // CPU ticks of the children it waited for
	read     tally // bytes, with those of the children it waited for
	write    tally
	switches threadSwitches
	fds      int64
	// Denied are what only the same user or root may read.
	diskDenied, fdsDenied bool
}

// ended reports whether the process is over though it is still listed: its
// counters are there, its memory and files are not. It is a zombie that waits to
// be reaped or about to become one: the kernel lets go of the memory first, which
// takes a while for gigabytes and in which the process seems to run.
func (p *proc) ended() bool {
	return strings.HasPrefix(p.status.state, "Z") || p.status.virtual == 0
}

// proc reads one process and continues its counters from before, where it may be
// among others. It returns the process's threads too. An error for which [gone]
// holds means that it has ended; with any other it is returned as far as known.
func (f *files) proc(pid int, before map[identity]*proc) (*proc, []int, error) {
	s, err := f.stat(pid)
	if err != nil {
		return lastKnown(pid, before), nil, err
	}
	p := &proc{id: identity{pid: pid, start: s.start}, stat: s}
	if old := before[p.id]; old != nil {
		*p = *old
		p.stat = s
	}
	threads, err := f.numbers(strconv.Itoa(pid), "task")
	if err != nil {
		return p, nil, err
	}
	if p.status, err = f.status(strconv.Itoa(pid)); err != nil {
		return p, threads, err
	}
	p.own = s.own
	p.waited.update(s.waited)
	p.switches.update(f.threadSwitches(pid, threads, p.status))
	return p, threads, f.privileged(p)
}

// lastKnown keeps a process that can't be read now as it was.
func lastKnown(pid int, before map[identity]*proc) *proc {
	for id, p := range before {
		if id.pid == pid {
			return p
		}
	}
	return nil
}

// threadSwitches reads the context switches of each thread. The first thread's
// are in the process's own status.
func (f *files) threadSwitches(pid int, threads []int, main status) map[int]switches {
	now := make(map[int]switches, len(threads))
	now[pid] = switches{main.voluntary, main.nonvoluntary}
	for _, tid := range threads {
		if tid == pid {
			continue
		}
		// Only a thread that has just ended fails here.
		if s, err := f.status(strconv.Itoa(pid), "task", strconv.Itoa(tid)); err == nil {
			now[tid] = switches{s.voluntary, s.nonvoluntary}
		}
	}
	return now
}

// privileged reads what another user's process doesn't show.
func (f *files) privileged(p *proc) error {
	disk, err := f.diskBytes(p.id.pid)
	if gone(err) {
		return err
	}
	if p.diskDenied = err != nil; !p.diskDenied {
		p.read.update(disk.read)
		p.write.update(disk.write)
	}
	if p.ended() {
		p.fds, p.fdsDenied = 0, false
		return err
	}
	fds, fdErr := f.openFiles(p.id.pid)
	if gone(fdErr) {
		return fdErr
	}
	p.fds, p.fdsDenied = fds, fdErr != nil
	if err == nil {
		err = fdErr
	}
	return err
}
