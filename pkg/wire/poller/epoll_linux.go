package poller

import (
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// never is a time after all others.
const never = math.MaxInt64

// kernelTimespec is epoll_pwait2's argument, also on 32-bit machines.
type kernelTimespec struct{ seconds, nanoseconds int64 }

// epollPwait2 waits for events for so many nanoseconds, with [never] for ever. An announced wait is
// known to the Go scheduler.
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

// epollPwait waits like epollPwait2, in whole milliseconds, rounded up.
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

// takeEvents takes the events that have come. It never waits, so the call is hidden from the Go
// scheduler: see package socket.
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

// setTimer makes a timerfd fire after a time.
func setTimer(timer int, after int64) {
	if after == never {
		after = 0 // which stops it
	}
	_ = unix.TimerfdSettime(timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(after)}, nil) // it is open
}
