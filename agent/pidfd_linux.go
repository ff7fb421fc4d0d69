package agent

import "golang.org/x/sys/unix"

// openProcess returns a descriptor that names the process even after pid is reused.
func openProcess(pid int) (fd int, err error) { return unix.PidfdOpen(pid, 0) }
