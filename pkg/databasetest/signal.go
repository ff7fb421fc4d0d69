package databasetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/member"
)

// signalWithin is how soon processes must have stopped or ended after a signal.
const signalWithin = 10 * time.Second

// Pause stops the processes of a member's named commands, or of all commands without names.
// They keep their connections and answer nothing. Pause returns when none of their threads
// runs. Resume and Stop continue them.
func (c *Cluster) Pause(index int, commands ...string) {
	c.t.Helper()
	for _, child := range c.signal(index, unix.SIGSTOP, commands...) {
		c.await(child.Name+" is stopped", func() bool { return stopped(child.Pid) })
	}
}

// Resume continues the paused processes of a member.
func (c *Cluster) Resume(index int) {
	c.t.Helper()
	c.signal(index, unix.SIGCONT)
}

// KillCommand kills one command of a member; its other commands keep running. The member
// must be killed or stopped before it is started again.
func (c *Cluster) KillCommand(index int, command string) {
	c.t.Helper()
	c.signal(index, unix.SIGKILL, command)
	c.await(command+" has ended", func() bool {
		return slices.ContainsFunc(c.members[index].Children(), func(child member.Child) bool {
			return child.Name == command && !child.Running
		})
	})
}

// signal sends a signal to the process groups of a member's running named commands, or of
// all commands without names, and returns the commands.
func (c *Cluster) signal(index int, signal unix.Signal, commands ...string) []member.Child {
	c.t.Helper()
	var sent []member.Child
	for _, child := range c.members[index].Children() {
		if !child.Running || (len(commands) > 0 && !slices.Contains(commands, child.Name)) {
			continue
		}
		// A process that has just exited is not an error.
		if err := unix.Kill(-child.Pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			c.t.Fatalf("send %v to %s of member %d: %v", signal, child.Name, index, err)
		}
		sent = append(sent, child)
	}
	return sent
}

// await waits until a condition holds.
func (c *Cluster) await(what string, holds func() bool) {
	c.t.Helper()
	until(c.t, signalWithin, time.Millisecond, func() error {
		if !holds() {
			return fmt.Errorf("it must hold that %s", what)
		}
		return nil
	})
}

// stopped reports whether every thread of a process is stopped.
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
