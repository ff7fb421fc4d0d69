// Package exchange is one connection that carries one exchange at a time, a request and its answer,
// for clients that encode a protocol themselves. It starts no goroutines: the caller writes and
// reads, and the exchange ends when the context of the caller does. A caller that is a fiber waits
// for answers as a fiber if the connection is plaintext: see [Continues].
package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// Continues reports whether exchanges on connections with a config wait as fibers, if their
// context is a [fiber.Context]. They still leave the goroutine that runs them to connect, to
// write bytes that the network does not take at once, and to wait with a deadline.
func Continues(config *tls.Config) bool { return config == nil && poller.Attaches }

// Conn carries one exchange at a time and keeps its connection for the next one. It
// never sends a request twice. The zero Conn is not connected.
//
// An exchange is [Conn.Begin], [Conn.Connect] if there is no connection, [Conn.Send]
// or [Conn.Write], reading In, and [Conn.End], by one goroutine at a time. Close and
// Keepalive are safe to call from other goroutines.
type Conn struct {
	// In holds received bytes. It belongs to the exchange.
	In Input
	// Unsolicited handles bytes that the server sent between exchanges; it leaves an
	// incomplete message in In. Its error closes the connection. If it is nil, any
	// such byte closes the connection.
	Unsolicited func() error

	trip roundTrip
	sent atomic.Bool // its request was written

	mu     sync.Mutex
	net    net.Conn        // nil while not connected, and once polled is used instead
	raw    syscall.RawConn // from package net, below TLS
	polled *polled         // nil before a fiber has used the connection
	used   time.Time       // when the running exchange began, else when the last one ended
	busy   bool            // an exchange is running
	broken bool            // net must be closed after the exchange
	closed bool
	watch  contextWatch
}

// idleCheck is the time for which a connection must be unused before Begin checks whether the
// server closed it. A request sent sooner could cross the server's FIN anyway.
const idleCheck = 10 * time.Millisecond

var errBusy = errors.New("another exchange is running on the connection")

// Begin begins an exchange that ends with ctx, and reports whether there is a connection for it.
// After an error, a [*net.OpError] with Op "dial", nothing was sent and End must not be called.
func (c *Conn) Begin(ctx context.Context) (connected bool, err error) {
	f, _ := fiber.Of(ctx)
	if f == nil {
		fiber.Leave(ctx) // the goroutine that may run here, and that a derived context does not wake
	}
	connected, waits, err := c.begin(ctx, f)
	if !waits {
		f.Leave()
	}
	return connected, err
}

// begin implements Begin. It also reports whether a fiber waits on the connection without its own
// goroutine.
func (c *Conn) begin(ctx context.Context, f *fiber.Fiber) (connected, waits bool, err error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return false, true, notSent(net.ErrClosed)
	case c.busy:
		return false, true, notSent(errBusy)
	}
	if ctx.Done() != c.watch.done {
		c.watch.set(ctx, c.interrupt)
	}
	if c.watch.over {
		return false, true, notSent(context.Cause(ctx))
	}
	looks := now.Sub(c.used) > idleCheck || c.polled != nil && c.polled.news()
	if c.connected() && looks && c.checkIdle() != nil {
		c.drop()
	}
	if f != nil {
		c.attach()
	}
	if c.polled != nil {
		c.polled.fiber = f
	}
	c.used, c.busy = now, true
	c.sent.Store(false)
	return c.connected(), c.polled != nil, nil
}

// connected reports whether there is a connection. c is locked.
func (c *Conn) connected() bool { return c.net != nil || c.polled != nil }

// attach has a plain TCP connection polled. c is locked.
func (c *Conn) attach() {
	plain, ok := c.net.(*net.TCPConn)
	if !ok || !poller.Attaches {
		return
	}
	p, err := attach(plain)
	if err != nil {
		c.drop()
		return
	}
	c.net, c.raw, c.polled = nil, nil, p
	c.In.from = p
	c.trip = roundTrip{conn: p, in: &c.In, sent: &c.sent}
}

// notSent wraps the error for a request that sent no byte.
func notSent(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// interrupt ends the running exchange because its context ended.
func (c *Conn) interrupt(done <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch.ends(done) && c.busy {
		c.abort()
	}
}

// abort fails pending reads and writes. c is locked.
func (c *Conn) abort() {
	switch {
	case c.polled != nil:
		c.polled.abort(errTimeout)
	case c.net != nil:
		_ = c.net.SetDeadline(time.Unix(1, 0)) // fails only on a closed connection
	}
}

// Connect replaces the connection of the running exchange, or makes the first one. A nil config
// means plaintext.
func (c *Conn) Connect(ctx context.Context, addr string, config *tls.Config) error {
	fiber.Leave(ctx)
	c.mu.Lock()
	c.drop()
	c.mu.Unlock()
	conn, err := Dial(ctx, addr, config)
	if err != nil {
		return err
	}
	return c.adopt(conn)
}

// adopt uses a new connection for the running exchange.
func (c *Conn) adopt(conn net.Conn) error {
	raw, err := socketOf(conn)
	if err != nil {
		return errors.Join(notSent(err), conn.Close())
	}
	c.In.Reset(conn)
	c.trip = roundTrip{conn: conn, in: &c.In, sent: &c.sent}
	if _, plain := conn.(*net.TCPConn); plain {
		c.trip.raw, c.trip.step = raw, c.trip.next
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.net, c.raw, c.polled, c.broken = conn, raw, nil, false
	switch {
	case c.closed:
		c.drop()
		return notSent(net.ErrClosed)
	case c.watch.over:
		return notSent(context.Canceled)
	}
	return nil
}

// Send writes a request in one piece. Without TLS it returns when the first bytes of the answer are
// in In.
func (c *Conn) Send(request []byte) error {
	c.trip.memory = nil
	return c.send(request)
}

// send also gives back the memory of the request once it was written.
func (c *Conn) send(request []byte) error {
	if c.trip.raw != nil {
		return c.trip.do(request)
	}
	if _, err := c.trip.conn.Write(request); err != nil {
		return err
	}
	c.trip.written()
	c.sent.Store(true)
	return nil
}

// Write writes a part of a request, or its pieces.
func (c *Conn) Write(pieces ...[]byte) error {
	buffers := net.Buffers(pieces)
	_, err := buffers.WriteTo(c.trip.conn)
	return err
}

// SetReadDeadline bounds reads in the running exchange, unless its context has ended; the zero time
// removes the bound. Later reads fail with [os.ErrDeadlineExceeded].
func (c *Conn) SetReadDeadline(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.watch.over || !c.connected():
		return os.ErrDeadlineExceeded
	case c.polled != nil:
		c.polled.until = deadline
		return nil
	}
	return c.net.SetReadDeadline(deadline)
}

// End ends an exchange. The connection is kept if it is reusable and the exchange
// was not interrupted.
func (c *Conn) End(reusable bool) {
	c.In.lend()
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.busy = now, false
	if c.polled != nil {
		c.polled.fiber, c.polled.until = nil, time.Time{}
	}
	if !reusable || c.broken || c.watch.over {
		c.drop()
	}
}

// Keepalive lets a timer use the connection, and reports whether there is one. If no exchange is
// running, it first handles unsolicited data. Then it calls do, except while a request is being
// written. busy reports whether an exchange is running, and since is the time for which one has
// been running, or the connection has been idle. An error from do closes the connection.
//
// Exchanges cannot begin or end while do runs. do may write little, which fails if the network does
// not take it soon.
func (c *Conn) Keepalive(do func(w io.Writer, busy bool, since time.Duration) error) (connected bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.connected():
		return false
	case !c.busy:
		if c.checkIdle() != nil || do(little{c}, false, time.Since(c.used)) != nil {
			c.drop()
			return false
		}
	case c.sent.Load() && !c.watch.over && do(little{c}, true, time.Since(c.used)) != nil:
		c.broken = true
		c.abort()
	}
	return true
}

// Close closes the connection, which fails a running exchange. No exchange can
// begin after it.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.watch.clear()
	if c.polled != nil && c.busy {
		c.polled.abort(errClosed)
		c.broken = true // End closes it
		return
	}
	c.drop()
}

// drop closes the connection, if there is one. c is locked. Data that is pending does not matter.
func (c *Conn) drop() {
	if c.net != nil {
		_ = c.net.Close()
		c.net, c.raw = nil, nil
	}
	if c.polled != nil {
		_ = c.polled.socket.Close()
		c.polled = nil
	}
}
