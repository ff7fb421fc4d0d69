package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// leanConn is one connection that carries one HTTP/1.1 exchange at a time, kept
// alive and made again when it is needed. Nothing is sent twice.
type leanConn struct {
	addr string
	tls  *tls.Config // nil for plaintext

	in    input
	used  time.Time // when the last exchange began
	first turn

	mu   sync.Mutex
	net  net.Conn // nil while there is none
	busy bool     // an exchange goes on
	// The end of a context ends the exchange. Registering for it costs more than
	// most of a request, and callers use one context many times.
	done <-chan struct{} // of the context that is watched
	over bool            // it has ended
	stop func() bool     // stops watching it
}

// idleFor is how long a connection is unused before it is looked at: the server
// may have closed it. In less, a request would cross the server's goodbye anyway.
const idleFor = 10 * time.Millisecond

// exchange sends a request and appends the body of its answer to out. A value that
// is not nil follows the head, once the server was asked for it if asks.
func (c *leanConn) exchange(ctx context.Context, head, value []byte, asks bool, out []byte) (int, []byte, error) {
	if err := c.begin(ctx); err != nil {
		return 0, nil, err
	}
	a, err := c.send(head, value, asks)
	if err == nil {
		out, err = c.in.body(a, out)
	}
	c.end(err == nil && !a.last && c.in.empty())
	if err != nil {
		if why := ended(ctx); why != nil {
			err = why
		}
		return 0, nil, err
	}
	return a.status, out, nil
}

// begin makes the connection ready for an exchange that the end of ctx ends. Its
// error is one of a request that was not sent.
func (c *leanConn) begin(ctx context.Context) error {
	if err := c.watch(ctx); err != nil {
		return err
	}
	now := time.Now()
	if c.net != nil && now.Sub(c.used) > idleFor && c.stale() {
		c.disconnect()
	}
	c.used = now
	if c.net != nil {
		return nil
	}
	conn, err := connect(ctx, c.addr, c.tls)
	if err != nil {
		c.end(false)
		return err
	}
	if err := c.adopt(conn); err != nil {
		c.end(false)
		return err
	}
	return nil
}

// watch begins an exchange unless its context is over.
func (c *leanConn) watch(ctx context.Context) error {
	done := ctx.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if done != c.done {
		c.unwatch()
		c.done = done
		if done != nil {
			c.stop = context.AfterFunc(ctx, func() { c.interrupt(done) })
		}
	}
	if c.over {
		return &net.OpError{Op: "dial", Net: "tcp", Err: context.Cause(ctx)} // nothing was sent
	}
	c.busy = true
	return nil
}

// interrupt ends the exchange that goes on under a context that is over.
func (c *leanConn) interrupt(done <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done != c.done {
		return
	}
	c.over = true
	if c.busy && c.net != nil {
		_ = c.net.SetDeadline(time.Unix(1, 0)) // fails only if closed, which does as well
	}
}

// unwatch forgets the context that is watched. The connection is locked.
func (c *leanConn) unwatch() {
	if c.stop != nil {
		c.stop()
	}
	c.done, c.over, c.stop = nil, false, nil
}

// end ends an exchange. A connection that was interrupted is of no more use.
func (c *leanConn) end(reusable bool) {
	c.mu.Lock()
	c.busy = false
	if !reusable || c.over {
		c.drop()
	}
	c.mu.Unlock()
	c.in.shrink()
}

func (c *leanConn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatch()
	c.drop()
}

func (c *leanConn) disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

// drop closes the connection, if there is one. It is locked.
func (c *leanConn) drop() {
	if c.net != nil {
		_ = c.net.Close() // nothing is unsent, and what is unread is lost on purpose
		c.net = nil
	}
}

// connect opens a connection.
func connect(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil || config == nil {
		return conn, err
	}
	config = config.Clone()
	config.ServerName, _, _ = net.SplitHostPort(addr)
	secure := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(&net.OpError{Op: "dial", Net: "tcp", Err: err}, conn.Close())
	}
	return secure, nil
}

// adopt takes a new connection for the exchange that goes on.
func (c *leanConn) adopt(conn net.Conn) error {
	c.first = turn{}
	if plain, ok := conn.(*net.TCPConn); ok {
		raw, err := plain.SyscallConn()
		if err != nil {
			return errors.Join(&net.OpError{Op: "dial", Net: "tcp", Err: err}, conn.Close())
		}
		c.first = turn{raw: raw, conn: conn}
		c.first.step = c.first.next
	}
	c.in = input{from: conn, buf: c.in.buf[:0]}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.net = conn
	if c.over {
		return &net.OpError{Op: "dial", Net: "tcp", Err: context.Canceled}
	}
	return nil
}

// stale says whether the server has closed an idle connection, or said something
// that nobody asked for.
func (c *leanConn) stale() bool {
	conn := c.net
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return true
	}
	silent := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
	})
	return err != nil || !silent
}

// send writes a request, whose head may hold its body, and reads the head of its
// answer.
func (c *leanConn) send(head, value []byte, asks bool) (answer, error) {
	if asks {
		if a, taken, err := c.ask(head); err != nil || !taken {
			return a, err
		}
		if _, err := c.net.Write(value); err != nil {
			return answer{}, err
		}
		return c.in.head()
	}
	if len(value) > 0 {
		if _, err := (&net.Buffers{head, value}).WriteTo(c.net); err != nil {
			return answer{}, err
		}
		return c.in.head()
	}
	if c.first.raw != nil {
		if err := c.first.take(head, &c.in); err != nil {
			return answer{}, err
		}
	} else if _, err := c.net.Write(head); err != nil {
		return answer{}, err
	}
	return c.in.head()
}

// ask writes the head of a request and waits a while for the word that its body is
// welcome. If it is not taken, the answer is final.
func (c *leanConn) ask(head []byte) (a answer, taken bool, err error) {
	if _, err := c.net.Write(head); err != nil {
		return a, false, err
	}
	if err := c.wait(time.Now().Add(expectWithin)); err != nil {
		return a, false, err
	}
	a, err = c.in.interim()
	if errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		if late := c.wait(time.Time{}); late != nil {
			return a, false, late
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // a server that says nothing takes it
		return a, true, nil
	case err != nil:
		return a, false, err
	case a.status == http.StatusContinue:
		return a, true, nil
	}
	a.last = true // the server expects no body any more, or still does
	return a, false, nil
}

// wait bounds reading, unless the context of the exchange is over.
func (c *leanConn) wait(until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return os.ErrDeadlineExceeded
	}
	return c.net.SetReadDeadline(until)
}

// turn writes a request and waits for the first of its answer in one wait of the
// runtime's poller. Reading a connection otherwise begins with a read that finds
// nothing, because the answer can't be there yet.
type turn struct {
	raw  syscall.RawConn // nil with TLS
	conn net.Conn
	step func(fd uintptr) bool // next, made once

	request []byte // nil once it was written
	in      *input
	err     error
}

// take writes the request and fills in.
func (t *turn) take(request []byte, in *input) error {
	t.request, t.in, t.err = request, in, nil
	err := t.raw.Read(t.step)
	t.request, t.in = nil, nil
	if t.err != nil {
		return t.err
	}
	return err
}

// next writes, then reads until there is something; false waits. The poller
// forgot what it knew before the first call, so that no wake-up is lost.
func (t *turn) next(fd uintptr) bool {
	if t.request != nil {
		t.write(int(fd))
		t.request = nil
		return t.err != nil
	}
	for {
		n, err := syscall.Read(int(fd), t.in.room())
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err != nil:
			t.err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
		case n == 0:
			t.err = io.ErrUnexpectedEOF
		default:
			t.in.added(n)
		}
		return true
	}
}

// write writes the request, what the kernel doesn't take at once in the usual way.
func (t *turn) write(fd int) {
	n, err := syscall.Write(fd, t.request)
	if err != nil && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
		t.err = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
		return
	}
	if n = max(n, 0); n < len(t.request) {
		_, t.err = t.conn.Write(t.request[n:])
	}
}
