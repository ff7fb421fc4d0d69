package poller

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/coreos/dbtester/pkg/wire/socket"
)

var _ Conn = (*apart)(nil)

// Apart is [Serve] with a separate goroutine for the connection: its reader delays no other
// connection, and many readers use many processors.
func Apart(nc net.Conn, r Reader) (Conn, error) {
	plain, ok := nc.(*net.TCPConn)
	if !ok {
		return newSingle(nc, r), nil
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &apart{net: plain, raw: raw, reader: r}
	c.step = c.try
	c.reading.Go(c.read)
	return c, nil
}

// apart is a plain TCP connection with its own goroutine.
type apart struct {
	net     *net.TCPConn
	raw     syscall.RawConn
	reader  Reader
	reading sync.WaitGroup
	closed  atomic.Bool
	over    error // why nothing more is read; owned by the reading goroutine

	// Owned by the writer.
	step    func(fd uintptr) bool // the method try, allocated once
	batch   []byte
	written int
	failed  error
}

// read reads until the connection ends.
func (c *apart) read() {
	err := c.raw.Read(c.look)
	if c.over != nil {
		err = c.over
	}
	if !c.closed.Load() {
		c.reader.Lost(err)
	}
}

// look reads until nothing more has arrived, and returns false to wait for more. A read that does not
// fill the room does not count as the last one, because the other side's end may have come with it.
func (c *apart) look(fd uintptr) bool {
	for !c.closed.Load() {
		n, err := socket.Read(fd, c.reader.Room())
		switch {
		case errors.Is(err, syscall.EAGAIN):
			c.over = c.reader.Received(0)
			return c.over != nil
		case err != nil:
			c.over = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
			return true
		case n == 0:
			c.over = io.EOF
			return true
		}
		if c.over = c.reader.Received(n); c.over != nil {
			return true
		}
	}
	return true
}

// TryWrite implements [Conn].
func (c *apart) TryWrite(b []byte) (int, error) {
	c.batch, c.written, c.failed = b, 0, nil
	err := c.raw.Write(c.step)
	c.batch = nil
	return c.written, errors.Join(err, c.failed)
}

// try writes once.
func (c *apart) try(fd uintptr) bool {
	n, err := socket.Write(fd, c.batch)
	if c.written = n; err != nil && !errors.Is(err, syscall.EAGAIN) {
		c.failed = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
	}
	return true
}

// Write implements [Conn].
func (c *apart) Write(b []byte) (int, error) { return c.net.Write(b) }

// Close implements [Conn].
func (c *apart) Close() (err error) {
	if !c.closed.Swap(true) {
		err = c.net.Close()
	}
	c.reading.Wait()
	return err
}
