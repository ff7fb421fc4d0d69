package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// WithStarter returns attributes for a child the kernel kills when the thread that started it ends.
// The caller keeps its goroutine on that thread until the child has ended. On systems other than
// Linux they have no effect.
func WithStarter() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// attributes returns the attributes of WithStarter for a child that leads its own process group.
func attributes() *syscall.SysProcAttr {
	a := WithStarter()
	a.Setpgid = true
	return a
}

// onMainThread reports whether the caller runs on the first thread of the process.
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
