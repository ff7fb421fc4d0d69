package agent

import "golang.org/x/sys/unix"

// openProcess returns a descriptor that names a process even after its number is reused.
func openProcess(pid int) (fd int, err error) { return unix.PidfdOpen(pid, 0) }
