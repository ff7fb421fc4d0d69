package poller

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// longest bounds, in nanoseconds, a wait that the Go scheduler does not know of. Such a wait holds
// one of Go's processors, for which other goroutines and stopping the world wait.
const longest = int64(time.Millisecond)

// A set wakes by itself at a time: epoll_pwait2 has a timeout in nanoseconds. Where the kernel
// lacks epoll_pwait2, and where Go's own poller waits, a timerfd in the set fires.

// clockSlot is the slot for events on the files that only wake a set.
const clockSlot = -1

// watch makes the set wake when one of its own files becomes readable. The file is never read.
func (s *set) watch(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: clockSlot}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &event))
}

// openWakers opens the files that wake the set: from other goroutines, and at a time.
func (s *set) openWakers() (err error) {
	if s.waker, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if s.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	return errors.Join(s.watch(s.waker), s.watch(s.timer))
}

// wake ends the wait of the goroutine. 1<<64 calls would fill the counter, which is never read.
func (s *set) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(s.waker, one[:])
}

// pwait2 reports whether the kernel has epoll_pwait2, and lets this process call it.
func (s *set) pwait2() bool {
	one := make([]unix.EpollEvent, 1)
	_, failed := epollPwait2(uintptr(s.epoll), one, 0, false)
	return failed == 0
}

// wait takes events, for which it waits for up to next nanoseconds. If the goroutine is busy, the
// wait is hidden from the Go scheduler, which would otherwise lend the processor to another thread,
// so that each event wakes both. If nothing has happened for a while, the goroutine rests.
func (s *set) wait(taken []unix.EpollEvent, next int64) int {
	busy := s.busy.Load() > 0
	if busy && s.quiet && next > longest {
		return s.rest.wait(taken, next)
	}
	wait, call := next, epollPwait2
	if busy {
		wait = min(next, longest)
	}
	if !s.exact {
		call = epollPwait
	}
	if wait > 0 && wait == next && next != never {
		s.wakeExactly(next)
	}
	n, failed := call(uintptr(s.epoll), taken, wait, !busy)
	switch failed { // errors.Is would take a hundredth of the time for a paced request
	case 0:
	case unix.EINTR:
		return 0
	default:
		panic(os.NewSyscallError("epoll_wait", failed)) // the file is wrong
	}
	s.quiet = s.quiet || n == 0 && wait < next
	return n
}

// wakeExactly makes the next wait end on time. Otherwise it may end 50 us late, because the kernel wakes
// threads together, or a millisecond late on a kernel without epoll_pwait2. The goroutine does not know
// its thread, nor may it keep one, so each wait needs wakeExactly.
func (s *set) wakeExactly(wait int64) {
	if !s.exact {
		setTimer(s.timer, wait)
		return
	}
	const nanoseconds = 1
	_, _, _ = syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, nanoseconds, 0)
}
