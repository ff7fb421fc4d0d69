package poller

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/wire/socket"
)

var _ Socket = (*shared)(nil)

// Attaches reports whether this system has sockets that [Attach] takes.
const Attaches = true

// Attach has the goroutine that reads connections call ready when bytes arrive on a connection and
// when it has ended, from now on, also if they arrived earlier. Calls may overlap, and one may come
// after Close. ready must not wait. The caller must no longer use nc, and must close the socket.
// After an error nc may be closed.
func Attach(nc *net.TCPConn, ready func()) (Socket, error) {
	s, err := common.get()
	if err != nil {
		return nil, err
	}
	return s.attach(nc, ready)
}

func (s *set) attach(nc *net.TCPConn, ready func()) (Socket, error) {
	c, err := s.take(nc, &shared{ready: ready})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// TryRead implements [Socket].
func (c *shared) TryRead(b []byte) (n int, more bool, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.fd < 0 {
		return 0, false, &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
	}
	return c.receive(b)
}

// Peek implements [Socket].
func (c *shared) Peek() (waiting bool, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.fd < 0 {
		return false, net.ErrClosed
	}
	return socket.Peek(uintptr(c.fd))
}

// Shutdown implements [Socket].
func (c *shared) Shutdown() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.fd < 0 {
		return net.ErrClosed
	}
	return os.NewSyscallError("shutdown", unix.Shutdown(c.fd, unix.SHUT_RDWR))
}
