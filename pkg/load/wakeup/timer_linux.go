package wakeup

import (
	"os"

	"golang.org/x/sys/unix"
)

// timer is a timerfd watched by the Go poller. It is never read.
type timer struct {
	*os.File
	fd int
}

func newTimer() (timer, error) {
	// The poller watches only files that do not block.
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return timer{}, err
	}
	return timer{os.NewFile(uintptr(fd), "wakeup"), fd}, nil
}

// set makes the timer fire after some nanoseconds, at least 1. It fails only on a closed file,
// after the step.
func (t timer) set(after int64) {
	_ = unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(after)}, nil)
}
