package databasetest

import (
	"errors"
	"slices"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/member"
)

// signalWithin is how soon processes must have stopped or ended after a signal.
const signalWithin = 10 * time.Second

// Pause stops the processes of a member in their tracks, those of the named
// commands or, without names, all: they keep their connections and answer nothing.
// It returns when no thread of them runs. Resume lets them go on, and so does Stop.
func (c *Cluster) Pause(index int, commands ...string) {
	c.t.Helper()
	for _, child := range c.signal(index, unix.SIGSTOP, commands...) {
		c.await(child.Name+" is stopped", func() bool { return stopped(child.Pid) })
	}
}

// Resume lets the paused processes of a member go on.
func (c *Cluster) Resume(index int) {
	c.t.Helper()
	c.signal(index, unix.SIGCONT)
}

// KillCommand ends one command of a member at once; the others of the member run
// on. Before the member is started again it must be killed or stopped.
func (c *Cluster) KillCommand(index int, command string) {
	c.t.Helper()
	c.signal(index, unix.SIGKILL, command)
	c.await(command+" has ended", func() bool {
		return slices.ContainsFunc(c.members[index].Children(), func(child member.Child) bool {
			return child.Name == command && !child.Running
		})
	})
}

// signal sends a signal to the process groups of a member's commands that run, to
// all without names, and returns whom it was sent to.
func (c *Cluster) signal(index int, signal unix.Signal, commands ...string) []member.Child {
	c.t.Helper()
	var sent []member.Child
	for _, child := range c.members[index].Children() {
		if !child.Running || (len(commands) > 0 && !slices.Contains(commands, child.Name)) {
			continue
		}
		// One that ended just now is no failure of the signal.
		if err := unix.Kill(-child.Pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			c.t.Fatalf("send %v to %s of member %d: %v", signal, child.Name, index, err)
		}
		sent = append(sent, child)
	}
	return sent
}

// await returns when a condition holds.
func (c *Cluster) await(what string, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(signalWithin); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("not after %v: %s", signalWithin, what)
		}
	}
}

// stopped says whether every thread of a process is stopped.
func stopped(pid int) bool {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return false
	}
	for _, thread := range threads {
		if stat, err := thread.Stat(); err != nil || stat.State != "T" {
			return false
		}
	}
	return true
}
