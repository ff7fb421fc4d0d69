package selfcheck

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer is a timer of the kernel that the runtime's poller watches: a timer of the
// runtime may be a millisecond late, and a goroutine that sleeps in the kernel
// keeps its processor from the others for a while.
type timer struct {
	file *os.File
	fd   int
}

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a timer: %w", err)
	}
	return &timer{fd: fd, file: os.NewFile(uintptr(fd), "timer")}, nil
}

// sleep returns after a duration that is more than 0.
func (t *timer) sleep(d time.Duration) error {
	if err := unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil); err != nil {
		return fmt.Errorf("set a timer: %w", err)
	}
	var expirations [8]byte
	if _, err := t.file.Read(expirations[:]); err != nil {
		return fmt.Errorf("wait for a timer: %w", err)
	}
	return nil
}

func (t *timer) close() { t.file.Close() }
