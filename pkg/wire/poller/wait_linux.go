package poller

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// longest bounds, in nanoseconds, a wait of which Go's scheduler is not told. Such a wait holds a
// processor of Go's, for which a stop of the world and others wait.
const longest = int64(time.Millisecond)

// A set wakes by itself at a time: epoll_pwait2 has it as a time-out in nanoseconds. Where the
// kernel lacks that, and where Go's own poller waits, a timerfd in the set fires.

// clockSlot is the slot of the events of the files that only wake a set.
const clockSlot = -1

// watch has the set wake when a file of its own becomes readable, which nobody reads.
func (s *set) watch(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: clockSlot}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &event))
}

// openWakers makes what wakes the set: from other goroutines, and at a time.
func (s *set) openWakers() (err error) {
	if s.waker, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if s.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	return errors.Join(s.watch(s.waker), s.watch(s.timer))
}

// wake ends the wait of the set's goroutine. 1<<64 calls would fill the counter, which nobody reads.
func (s *set) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(s.waker, one[:])
}

// setTimer has the timerfd fire after a time.
func (s *set) setTimer(after int64) {
	if after == never {
		after = 0 // which stops it
	}
	_ = unix.TimerfdSettime(s.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(after)}, nil) // it is open
}

// pwait2 reports whether the kernel has epoll_pwait2, and lets this process call it.
func (s *set) pwait2() bool {
	one := make([]unix.EpollEvent, 1)
	_, failed := epollPwait2(uintptr(s.epoll), one, 0, false)
	return failed == 0
}

// kernelTimespec is what epoll_pwait2 takes on machines of 32 bits too.
type kernelTimespec struct{ seconds, nanoseconds int64 }

// epollPwait2 waits for events for a number of nanoseconds, [never] for ever. Go's scheduler is told
// of a wait that is announced.
func epollPwait2(epoll uintptr, taken []unix.EpollEvent, wait int64, announced bool) (int, syscall.Errno) {
	limit := kernelTimespec{wait / 1e9, wait % 1e9}
	until := &limit
	if wait == never {
		until = nil
	}
	first, most := unsafe.Pointer(unsafe.SliceData(taken)), uintptr(len(taken))
	var n uintptr
	var failed syscall.Errno
	if announced {
		n, _, failed = syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, epoll, uintptr(first), most, uintptr(unsafe.Pointer(until)), 0, 0)
	} else {
		n, _, failed = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, epoll, uintptr(first), most, uintptr(unsafe.Pointer(until)), 0, 0)
	}
	return int(n), failed
}

// epollPwait is epollPwait2 in whole milliseconds, rounded up.
func epollPwait(epoll uintptr, taken []unix.EpollEvent, wait int64, announced bool) (int, syscall.Errno) {
	const longest = int64(time.Hour)
	milliseconds := (min(wait, longest) + 1e6 - 1) / 1e6
	first, most := unsafe.Pointer(unsafe.SliceData(taken)), uintptr(len(taken))
	var n uintptr
	var failed syscall.Errno
	if announced {
		n, _, failed = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, epoll, uintptr(first), most, uintptr(milliseconds), 0, 0)
	} else {
		n, _, failed = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, epoll, uintptr(first), most, uintptr(milliseconds), 0, 0)
	}
	return int(n), failed
}

// wait takes events, for which it waits for a time. If the goroutine is busy, Go's scheduler is not told
// of the wait: else it lends the processor to another thread, and each event wakes both. Where
// nothing has happened for a while, the goroutine rests.
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
	switch {
	case errors.Is(failed, unix.EINTR):
		return 0
	case failed != 0:
		panic(os.NewSyscallError("epoll_wait", failed)) // the file is wrong
	}
	s.quiet = s.quiet || n == 0 && wait < next
	return n
}

// wakeExactly has the next wait end on time. It may end 50 us late otherwise, because the kernel wakes
// threads together, or a millisecond on a kernel without epoll_pwait2. The goroutine does not know on
// which thread it runs, nor may it keep one, so each wait needs it.
func (s *set) wakeExactly(wait int64) {
	if !s.exact {
		s.setTimer(wait)
		return
	}
	const nanoseconds = 1
	_, _, _ = syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, nanoseconds, 0)
}

// takeEvents takes the events that have come. As it never waits, Go's scheduler is not told of the
// call: see package socket.
func takeEvents(epoll uintptr, taken []unix.EpollEvent) int {
	for {
		n, failed := epollPwait(epoll, taken, 0, false)
		switch failed {
		case 0:
			return n
		case unix.EINTR:
		default:
			panic(os.NewSyscallError("epoll_pwait", failed)) // the file is wrong
		}
	}
}
