package cgroup

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// startIn makes a child begin in the version 2 group at dir, which must stay open until the start.
func startIn(attr *syscall.SysProcAttr, dir *os.File) {
	attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
}

// holdsGroups reports whether a file system contains control groups.
func holdsGroups(s unix.Statfs_t) bool {
	return s.Type == unix.CGROUP_SUPER_MAGIC || s.Type == unix.CGROUP2_SUPER_MAGIC
}
