package poller

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/wire/socket"
)

var (
	_ Conn     = (*shared)(nil)
	_ LowWater = (*shared)(nil)
)

// take waits for a connection from now on.
func (s *set) take(nc *net.TCPConn, c *shared) (_ *shared, err error) {
	if c.fd, err = detach(nc); err != nil {
		return nil, err
	}
	c.set, c.writable, c.closed = s, make(chan struct{}, 1), make(chan struct{})
	if err := s.addSocket(c); err != nil {
		return nil, errors.Join(err, unix.Close(c.fd))
	}
	return c, nil
}

// detach takes the socket from a connection, so that Go's own poller does not wait for it too.
func detach(nc *net.TCPConn) (fd int, err error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, os.NewSyscallError("fcntl", failed)); err != nil {
		return 0, err
	}
	if err := nc.Close(); err != nil {
		return 0, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// happened notes an event, and reports whether the socket must be served: a goroutine that already
// serves it also handles the event.
func (c *shared) happened(what uint32) bool {
	if what&unix.EPOLLOUT != 0 && c.blocked.Load() {
		select {
		case c.writable <- struct{}{}:
		default:
		}
	}
	if what&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.ended.Store(true)
	}
	if c.ready != nil {
		return what&^unix.EPOLLOUT != 0
	}
	return c.events.Add(1) == 1
}

// serve reads until it has seen all events. If they do not end, or the reader pauses, it continues on
// another goroutine, so that other sockets get their turn.
func (c *shared) serve() {
	const patience = 16 // reads
	if c.ready != nil {
		c.ready()
		return
	}
	c.serving.Lock()
	defer c.serving.Unlock()
	for range patience {
		n := c.events.Load()
		all := c.over || c.read()
		if !c.over {
			if until := pause(c.reader); until != nil {
				go func() {
					<-until
					c.serve()
				}()
				return
			}
		}
		if all && c.events.CompareAndSwap(n, 0) {
			return
		}
	}
	go c.serve()
}

// read reads once, and reports whether that was all.
func (c *shared) read() (all bool) {
	n, more, err := c.receive(c.reader.Room()) // from a socket that Close leaves open while this runs
	if n > 0 || err == nil {
		if bad := c.reader.Received(n); bad != nil {
			err = bad
		}
	}
	if err != nil {
		c.over = true
		c.reader.Lost(err)
		return true
	}
	return !more
}

// receive reads once, and reports whether there may be more. A read that does not fill the room has
// taken all bytes, because bytes that arrive later are another event. It has not taken the end if
// that came with the last bytes.
func (c *shared) receive(room []byte) (n int, more bool, err error) {
	ended := c.ended.Load()
	n, err = socket.Read(uintptr(c.fd), room)
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return 0, false, nil
	case err != nil:
		return 0, false, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
	case n == 0:
		return 0, false, io.EOF
	}
	return n, n == len(room) || ended, nil
}

// TryWrite implements [Conn].
func (c *shared) TryWrite(b []byte) (int, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.fd < 0 {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: net.ErrClosed}
	}
	n, err := socket.Write(uintptr(c.fd), b)
	if err == nil || errors.Is(err, syscall.EAGAIN) {
		return n, nil
	}
	return n, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
}

// WakeAt implements [LowWater].
func (c *shared) WakeAt(bytes int) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.fd < 0 {
		return net.ErrClosed
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes))
}

// Write implements [Conn].
func (c *shared) Write(b []byte) (written int, err error) {
	for {
		n, err := c.TryWrite(b[written:])
		written += n
		switch {
		case err != nil || written == len(b):
			c.blocked.Store(false)
			return written, err
		case n == 0 && !c.blocked.CompareAndSwap(false, true): // tried again since blocked was set
			select {
			case <-c.writable:
			case <-c.closed:
			}
		}
	}
}

// Close implements [Conn].
func (c *shared) Close() error {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return nil
	}
	c.set.remove(c)
	err := unix.Close(c.fd) // also ends the wait for it
	c.over, c.fd = true, -1
	close(c.closed)
	return os.NewSyscallError("close", err)
}
