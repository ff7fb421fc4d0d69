package exchange

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// maxUnasked bounds, in bytes, what a server may say unasked.
const maxUnasked = 64 << 10

var (
	errUnasked = errors.New("the server said what nobody asked for")
	errNoSock  = errors.New("the connection is no socket")
)

// listen hears what the server said while no exchange went on, without waiting for
// it. An error says that the connection is of no more use. It is locked.
func (c *Conn) listen() error {
	for {
		waiting, err := peek(c.raw)
		switch {
		case err != nil:
			return err
		case !waiting && c.In.Empty():
			return nil
		case c.Unasked == nil || len(c.In.Bytes()) > maxUnasked:
			return errUnasked
		case !waiting:
			return c.Unasked()
		}
		if err := c.hear(); err != nil {
			return err
		}
		if err := c.Unasked(); err != nil {
			return err
		}
	}
}

// hear reads what is there into In.
func (c *Conn) hear() error {
	if _, plain := c.net.(*net.TCPConn); plain {
		return c.In.Fill()
	}
	// What is there may be less than a record of TLS, or none that is for us.
	const moment = time.Millisecond
	err := c.net.SetReadDeadline(time.Now().Add(moment))
	if err == nil {
		err = c.In.Fill()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, c.net.SetReadDeadline(time.Time{}))
}

// peek says whether there is something to read. The end of the connection is an
// error.
func peek(raw syscall.RawConn) (waiting bool, err error) {
	var n int
	var failed error
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, failed = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	switch {
	case err != nil:
		return false, err
	case errors.Is(failed, syscall.EAGAIN), errors.Is(failed, syscall.EINTR):
		return false, nil
	case failed != nil:
		return false, failed
	case n == 0:
		return false, io.EOF
	}
	return true, nil
}

// rawOf returns the socket of a connection.
func rawOf(conn net.Conn) (syscall.RawConn, error) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if socket, ok := conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return nil, errNoSock
}
