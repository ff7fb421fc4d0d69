package selfcheck

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer is a timerfd watched by the runtime poller. A Go timer may be a millisecond late, and a
// goroutine that sleeps in a system call occupies its processor for a while.
type timer struct {
	file *os.File
	fd   int
}

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a timerfd: %w", err)
	}
	return &timer{fd: fd, file: os.NewFile(uintptr(fd), "timer")}, nil
}

// sleep sleeps for a duration, which must be positive.
func (t *timer) sleep(d time.Duration) error {
	if err := unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil); err != nil {
		return fmt.Errorf("set a timerfd: %w", err)
	}
	var expirations [8]byte
	if _, err := t.file.Read(expirations[:]); err != nil {
		return fmt.Errorf("wait for a timerfd: %w", err)
	}
	return nil
}

func (t *timer) close() { t.file.Close() }
