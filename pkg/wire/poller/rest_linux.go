package poller

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rest is the wait of a busy goroutine when nothing happens: in Go's own poller, which needs no
// thread to watch it. A long system call that the Go scheduler knows of costs dozens of switches:
// the thread that takes the processor from it checks every 20 us whether to do so.
type rest struct {
	watched int // the set's epoll
	timer   int // the set's timerfd
	// epoll has only the epoll of the set, and reports it once after each arming: Go's poller,
	// which always waits for it, must not wake while the goroutine waits in a system call.
	epoll int
	raw   syscall.RawConn
	step  func(uintptr) bool // the method look, allocated once

	taken []unix.EpollEvent
	n     int
	fired []unix.EpollEvent
}

func newRest(watched, timer int) (r *rest, err error) {
	r = &rest{watched: watched, timer: timer, fired: make([]unix.EpollEvent, 1)}
	r.step = r.look
	if r.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// Armed, it would wake Go's poller with each event until the first rest.
	if err := r.control(unix.EPOLL_CTL_ADD, 0); err != nil {
		return nil, errors.Join(err, unix.Close(r.epoll))
	}
	if err := unix.SetNonblock(r.epoll, true); err != nil { // for Go's own poller
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(r.epoll))
	}
	r.raw, err = os.NewFile(uintptr(r.epoll), "rest").SyscallConn()
	return r, err
}

// control requests one report about events in the epoll of the set.
func (r *rest) control(how int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(r.epoll, how, r.watched, &unix.EpollEvent{Events: events | unix.EPOLLONESHOT}))
}

// wait waits for events and takes them. The timerfd has an event after a time, unless it is [never].
func (r *rest) wait(taken []unix.EpollEvent, next int64) int {
	r.taken = taken
	setTimer(r.timer, next)
	if err := r.raw.Read(r.step); err != nil {
		panic(err) // the file is wrong
	}
	return r.n
}

// look takes events, and returns false to wait for some. Events from before the arming are also
// reported.
func (r *rest) look(uintptr) bool {
	takeEvents(uintptr(r.epoll), r.fired) // so that it is reported again
	if r.n = takeEvents(uintptr(r.watched), r.taken); r.n > 0 {
		return true
	}
	if err := r.control(unix.EPOLL_CTL_MOD, unix.EPOLLIN); err != nil {
		panic(err) // the file is wrong
	}
	return false
}
