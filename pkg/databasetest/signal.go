package databasetest

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/member"
)

// Pause stops a member's named commands, or all its commands without names. The processes keep
// their connections and answer nothing. Pause returns when all their threads have stopped. Resume
// and Stop continue them.
func (c *Cluster) Pause(index int, commands ...string) {
	c.t.Helper()
	for _, child := range c.signal(index, unix.SIGSTOP, commands...) {
		c.await(child.Name+" is stopped", func() bool { return stopped(child.Pid) })
	}
}

// KillCommand kills one of a member's commands; the others keep running. The member must be killed
// or stopped before it is started again.
func (c *Cluster) KillCommand(index int, command string) {
	c.t.Helper()
	c.signal(index, unix.SIGKILL, command)
	c.await(command+" has ended", func() bool {
		return slices.ContainsFunc(c.members[index].Children(), func(child member.Child) bool {
			return child.Name == command && !child.Running
		})
	})
}
