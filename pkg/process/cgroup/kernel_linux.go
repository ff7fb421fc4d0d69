package cgroup

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// startIn has a child begin in a group of version 2, whose directory stays open until then.
func startIn(attr *syscall.SysProcAttr, dir *os.File) {
	attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
}

// holdsGroups reports whether a file system is one of control groups.
func holdsGroups(s unix.Statfs_t) bool {
	return s.Type == unix.CGROUP_SUPER_MAGIC || s.Type == unix.CGROUP2_SUPER_MAGIC
}
