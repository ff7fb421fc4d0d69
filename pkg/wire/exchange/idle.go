package exchange

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/wire/socket"
)

// maxUnsolicited bounds, in bytes, an unsolicited message from the server.
const maxUnsolicited = 64 << 10

var (
	errUnsolicited = errors.New("the server sent data without a request")
	errNoSocket    = errors.New("the connection has no socket")
)

// checkIdle handles bytes that the server sent between exchanges, without waiting for
// more. After an error the connection must not be used again. c is locked.
func (c *Conn) checkIdle() error {
	for {
		waiting, err := c.arrived()
		if err == nil && !waiting {
			err = c.fillDecrypted()
		}
		switch {
		case err != nil:
			return err
		case !waiting && c.In.Empty():
			return nil
		case c.Unsolicited == nil || len(c.In.Bytes()) > maxUnsolicited:
			return errUnsolicited
		case waiting:
			if err := c.fillAvailable(); err != nil {
				return err
			}
		}
		before := len(c.In.Bytes())
		if err := c.Unsolicited(); err != nil {
			return err
		}
		if !waiting && len(c.In.Bytes()) == before {
			return nil // an incomplete message
		}
	}
}

// fillAvailable reads into In the bytes that have arrived.
func (c *Conn) fillAvailable() error {
	if !c.secure() {
		return c.In.Fill()
	}
	// The bytes may be less than a TLS record, or a record without application data.
	const moment = time.Millisecond
	return c.fillBefore(time.Now().Add(moment))
}

// fillDecrypted reads into In a TLS record that arrived together with one that was read before: it
// has left the socket.
func (c *Conn) fillDecrypted() error {
	if !c.secure() {
		return nil
	}
	return c.fillBefore(time.Unix(1, 0))
}

// fillBefore reads once into In. It is no error if nothing arrives before the deadline.
func (c *Conn) fillBefore(deadline time.Time) error {
	err := c.net.SetReadDeadline(deadline)
	if err == nil {
		err = c.In.Fill()
		c.In.lend()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, c.net.SetReadDeadline(time.Time{}))
}

// secure reports whether the connection uses TLS. c is locked.
func (c *Conn) secure() bool {
	_, plain := c.net.(*net.TCPConn)
	return !plain && c.polled == nil
}

// arrived reports whether bytes have arrived. If the connection has ended it returns an error. c is
// locked.
func (c *Conn) arrived() (waiting bool, err error) {
	if c.polled != nil {
		return c.polled.peek()
	}
	return readable(c.raw)
}

// readable implements arrived for a socket.
func readable(raw syscall.RawConn) (waiting bool, err error) {
	var failed error
	err = raw.Control(func(fd uintptr) { waiting, failed = socket.Peek(fd) })
	if err != nil {
		return false, err
	}
	return waiting, failed
}

// little writes a few bytes to a connection, which its Conn does not end meanwhile.
type little struct{ conn *Conn }

func (l little) Write(b []byte) (int, error) {
	if p := l.conn.polled; p != nil {
		n, err := p.socket.TryWrite(b)
		if err == nil && n < len(b) {
			err = errTimeout
		}
		return n, err
	}
	const within = 100 * time.Millisecond
	conn := l.conn.net
	if err := conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return 0, err
	}
	n, err := conn.Write(b)
	if err != nil {
		return n, err
	}
	return n, conn.SetWriteDeadline(time.Time{})
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
