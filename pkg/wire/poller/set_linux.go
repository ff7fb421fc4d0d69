package poller

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// set is the sockets that one goroutine waits for, and its alarms.
type set struct {
	epoll int
	waker int  // an eventfd
	timer int  // a timerfd
	exact bool // the kernel has epoll_pwait2
	rest  *rest

	clock clock
	busy  atomic.Int32 // number of busy users
	// quiet belongs to the goroutine. It is set by a long wait in which nothing happened, until a socket
	// is served or a fiber continued.
	quiet bool

	mu    sync.RWMutex
	slots []*shared // nil are free
	free  []int32
	last  int32 // serial
}

// common and separate are the sets of all connections of [Serve] and [Apart] of the process. Their
// goroutines never end: see [Forever].
var common, separate lazySet

// lazySet is a set that is opened when it is first needed, and retried after an error: a process
// that had no file descriptors left may have some later.
type lazySet struct {
	mu  sync.Mutex
	set *set
}

func (l *lazySet) get() (s *set, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil {
		l.set, err = newSet(runtime.GOMAXPROCS(0), true)
	}
	return l.set, err
}

// newSet starts to wait in the way that suits the number of Go's processors. Without exact, it behaves
// as on a kernel without exact waits.
func newSet(processors int, exact bool) (*set, error) {
	s, err := openSet(exact)
	if err != nil {
		return nil, err
	}
	go s.run(processors > 1)
	return s, nil
}

// openSet returns a set whose goroutine has not started yet.
func openSet(exact bool) (*set, error) {
	s := &set{epoll: -1, waker: -1, timer: -1, clock: clock{base: time.Now()}}
	if err := s.open(); err != nil {
		for _, fd := range []int{s.epoll, s.waker, s.timer} {
			if fd >= 0 {
				err = errors.Join(err, unix.Close(fd))
			}
		}
		return nil, err
	}
	s.exact = exact && s.pwait2()
	return s, nil
}

// open opens the set's files. After an error some may be open.
func (s *set) open() (err error) {
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(s.epoll, true); err != nil { // for Go's own poller
		return os.NewSyscallError("fcntl", err)
	}
	if err := s.openWakers(); err != nil {
		return err
	}
	s.rest, err = newRest(s)
	return err
}

// run serves sockets forever.
func (s *set) run(blocks bool) {
	if blocks {
		s.block()
	}
	s.park(os.NewFile(uintptr(s.epoll), "epoll"))
}

// block serves sockets, and waits for events in a system call. Go's own poller would need another
// system call for each event, and a second thread would wait in that poller while this one serves,
// and be woken for nothing.
func (s *set) block() {
	events := newEvents()
	began := time.Now()
	for {
		next := s.ring(events)
		n := s.wait(events.taken, next)
		s.clock.until.Store(0)
		s.serve(events, n)
		// Go takes the processor from a goroutine that has had it for 10 ms. After announced waits
		// it then checks every 20 us for a while whether it should do so again. After other waits
		// it costs less than yielding, which wakes a thread each time.
		if s.busy.Load() > 0 {
			continue
		}
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
				next := s.ring(events)
				n := takeEvents(fd, events.taken)
				if n == 0 && next > 0 {
					s.setTimer(next)
					return false // to wait
				}
				s.clock.until.Store(0)
				s.serve(events, n)
			}
		})
	}
	panic(err) // the file is wrong
}

// events holds one batch of the poller: the events taken at once, their sockets, and the due
// alarms.
type events struct {
	taken []unix.EpollEvent
	due   []*shared
	rung  []alarm
	batch fiber.Batch
}

func newEvents() *events {
	const most = 128
	return &events{taken: make([]unix.EpollEvent, most), due: make([]*shared, 0, most)}
}

// serve serves the sockets of the first n events.
func (s *set) serve(e *events, n int) {
	e.due = s.find(e.taken[:n], e.due[:0])
	s.quiet = s.quiet && len(e.due) == 0
	for _, c := range share(e.due, serveAll) {
		c.serve()
		if first := s.clock.first.Load(); first != never && first <= s.clock.now() {
			s.ring(e) // due alarms do not wait for all sockets
		}
	}
	clear(e.due)
}

// serveAll serves sockets one after another.
func serveAll(sockets []*shared) {
	for _, c := range share(sockets, serveAll) {
		c.serve()
	}
}

// share returns the part of some work that its caller does. Another goroutine does half of much work,
// which is worth waking a thread.
func share[T any](all []T, do func([]T)) []T {
	const few = 32
	for len(all) > few {
		half := len(all) / 2
		others := slices.Clone(all[half:])
		go do(others)
		all = all[:half]
	}
	return all
}

// find appends the sockets of events that no goroutine serves now.
func (s *set) find(taken []unix.EpollEvent, due []*shared) []*shared {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range taken {
		e := &taken[i]
		if e.Fd == clockSlot {
			continue
		}
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

// addSocket waits for a socket, whose reader may be called before addSocket returns.
func (s *set) addSocket(c *shared) error {
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
	// An event is reported once: bytes have arrived, or the network takes some again.
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
