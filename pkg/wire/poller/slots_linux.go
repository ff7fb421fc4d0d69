package poller

import (
	"os"

	"golang.org/x/sys/unix"
)

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
