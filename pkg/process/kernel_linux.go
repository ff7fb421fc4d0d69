package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes make a child lead its own process group. The kernel kills it when the thread that
// started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// onMainThread reports whether the caller runs on the process's first thread.
func onMainThread() bool { return unix.Gettid() == unix.Getpid() }

// waitEnd waits until the child pid has ended, without reaping it.
func waitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// ended reports whether the child pid has ended and waits to be reaped.
func ended(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}
