package poller

import (
	"errors"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// newSet starts to wait in the way that suits the number of processors that Go has. Without exact,
// it behaves as on a kernel without exact waits.
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

// open opens the files of the set. After an error some may be open.
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
	s.rest, err = newRest(s.epoll, s.timer)
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
					setTimer(s.timer, next)
					return false // to wait
				}
				s.clock.until.Store(0)
				s.serve(events, n)
			}
		})
	}
	panic(err) // the file is wrong
}

// serve serves the sockets that the first n events belong to.
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

// find appends the sockets with events that no goroutine serves now.
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
