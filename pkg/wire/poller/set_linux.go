package poller

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// set are the sockets that one goroutine waits for.
type set struct {
	epoll int

	mu    sync.RWMutex
	slots []*shared // nil are free
	free  []int32
	last  int32 // serial
}

// common is the set of all connections of the process. Its goroutine never ends: see [Forever].
var common = sync.OnceValues(func() (*set, error) { return newSet(runtime.GOMAXPROCS(0)) })

// newSet starts to wait in the way that suits the number of Go's processors.
func newSet(processors int) (*set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	s := &set{epoll: fd}
	if err := unix.SetNonblock(fd, true); err != nil { // for Go's own poller
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	go s.run(processors)
	return s, nil
}

// run serves sockets forever.
func (s *set) run(processors int) {
	if processors > 1 {
		s.block()
	}
	s.park(os.NewFile(uintptr(s.epoll), "epoll"))
}

// block serves sockets, and waits for events in a system call. Go's own poller would need another
// one for each event, and a second thread would wait in it while this one serves, and be
// woken for nothing.
func (s *set) block() {
	const forever = -1
	events := newEvents()
	began := time.Now()
	for {
		n, err := unix.EpollWait(s.epoll, events.taken, forever)
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(os.NewSyscallError("epoll_wait", err)) // the file is wrong
		}
		s.serve(events, max(n, 0))
		// Go takes the processor from a goroutine that has had it for 10 ms, and looks every
		// 20 us for a while whether it should do so again.
		if now := time.Now(); now.Sub(began) > 5*time.Millisecond {
			began = now
			runtime.Gosched()
		}
	}
}

// park serves sockets, and lets others have the only processor while it waits for events.
func (s *set) park(file *os.File) {
	raw, err := file.SyscallConn()
	if err == nil {
		events := newEvents()
		err = raw.Read(func(fd uintptr) bool {
			for {
				n := takeEvents(fd, events.taken)
				if n == 0 {
					return false // to wait
				}
				s.serve(events, n)
			}
		})
	}
	panic(err) // the file is wrong
}

// takeEvents takes the events that have come. As it never waits, Go's scheduler is not told of the
// call: see package socket.
func takeEvents(epoll uintptr, taken []unix.EpollEvent) int {
	for {
		n, _, failed := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, epoll, uintptr(unsafe.Pointer(unsafe.SliceData(taken))), uintptr(len(taken)), 0, 0, 0)
		switch failed {
		case 0:
			return int(n)
		case unix.EINTR:
		default:
			panic(os.NewSyscallError("epoll_pwait", failed)) // the file is wrong
		}
	}
}

// events are those taken at once, and their sockets.
type events struct {
	taken []unix.EpollEvent
	due   []*shared
}

func newEvents() *events {
	const most = 128
	return &events{make([]unix.EpollEvent, most), make([]*shared, 0, most)}
}

// serve serves the sockets of the first n events.
func (s *set) serve(e *events, n int) {
	e.due = s.find(e.taken[:n], e.due[:0])
	serveAll(e.due)
	clear(e.due)
}

// serveAll serves sockets one after another. Of many, another goroutine serves a half: that is worth
// waking a thread.
func serveAll(sockets []*shared) {
	const few = 32
	for len(sockets) > few {
		half := len(sockets) / 2
		others := slices.Clone(sockets[half:])
		go serveAll(others)
		sockets = sockets[:half]
	}
	for _, c := range sockets {
		c.serve()
	}
}

// find appends the sockets of events that nobody serves at present.
func (s *set) find(taken []unix.EpollEvent, due []*shared) []*shared {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range taken {
		e := &taken[i]
		c := s.slots[e.Fd]
		if c == nil || c.serial != e.Pad {
			continue // was closed meanwhile
		}
		if c.happened(e.Events) {
			due = append(due, c)
		}
	}
	return due
}

// add waits for a socket. Its reader may be called before add returns.
func (s *set) add(c *shared) error {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		c.slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		c.slot = int32(len(s.slots))
		s.slots = append(s.slots, nil)
	}
	s.last++
	c.serial = s.last
	s.slots[c.slot] = c
	s.mu.Unlock()
	// An event is reported once: that bytes have come, or that the network takes some again.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: c.slot, Pad: c.serial}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		s.remove(c)
		return os.NewSyscallError("epoll_ctl", err)
	}
	return nil
}

// remove forgets a socket.
func (s *set) remove(c *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[c.slot] = nil
	s.free = append(s.free, c.slot)
}
