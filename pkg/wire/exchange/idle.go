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

// maxUnsolicited bounds, in bytes, an unsolicited message of a server.
const maxUnsolicited = 64 << 10

var (
	errUnsolicited = errors.New("the server sent data without a request")
	errNoSocket    = errors.New("the connection has no socket")
)

// checkIdle handles bytes that the server sent between exchanges, without waiting for
// more. After an error the connection must not be used again. c is locked.
func (c *Conn) checkIdle() error {
	for {
		waiting, err := readable(c.raw)
		switch {
		case err != nil:
			return err
		case !waiting && c.In.Empty():
			return nil
		case c.Unsolicited == nil || len(c.In.Bytes()) > maxUnsolicited:
			return errUnsolicited
		case !waiting:
			return c.Unsolicited()
		}
		if err := c.fillAvailable(); err != nil {
			return err
		}
		if err := c.Unsolicited(); err != nil {
			return err
		}
	}
}

// fillAvailable reads into In the bytes that have arrived.
func (c *Conn) fillAvailable() error {
	if _, plain := c.net.(*net.TCPConn); plain {
		return c.In.Fill()
	}
	// The bytes may be less than a TLS record, or a record without application data.
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

// readable reports whether bytes have arrived. The end of the connection is an
// error.
func readable(raw syscall.RawConn) (waiting bool, err error) {
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

// socketOf returns the socket of a connection, below TLS.
func socketOf(conn net.Conn) (syscall.RawConn, error) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if socket, ok := conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return nil, errNoSocket
}
