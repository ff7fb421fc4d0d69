// Package exchange is one connection that carries one exchange at a time, a request
// and its answer, for clients that speak a protocol of their own making. It starts
// no goroutines: the caller writes and reads, and the end of its context ends the
// exchange.
package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn carries one exchange at a time over a connection that it keeps for the next.
// It sends nothing twice. The zero Conn has no connection.
//
// An exchange is [Conn.Begin], [Conn.Connect] if there is no connection, [Conn.Send]
// or [Conn.Write], reading In, and [Conn.End], by one goroutine at a time. Close and
// Tend may be called beside it.
type Conn struct {
	// In is what came over the connection and was not taken yet. It belongs to the
	// exchange.
	In Input
	// Unasked takes out of In what the server said while no exchange went on, but for
	// what has not come whole; its error ends the connection. Without it, so does any
	// word.
	Unasked func() error

	turn turn
	sent atomic.Bool // the request of the exchange was written

	mu     sync.Mutex
	net    net.Conn        // nil while there is none
	raw    syscall.RawConn // of net, below TLS
	used   time.Time       // when the last exchange began, or ended
	busy   bool            // an exchange goes on
	broken bool            // net is of no use after the exchange
	closed bool
	watch  watch
}

// idleFor is how long a connection is unused before it is looked at: the server
// may have closed it. In less, a request would cross the server's goodbye anyway.
const idleFor = 10 * time.Millisecond

// errBusy is that two exchanges were begun at once.
var errBusy = errors.New("an exchange goes on")

// Begin begins an exchange that the end of ctx ends, and says whether there is a
// connection for it. Its error, a [*net.OpError] of "dial", is one of a request that
// was not sent; then there is nothing to end.
func (c *Conn) Begin(ctx context.Context) (connected bool, err error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return false, notSent(net.ErrClosed)
	case c.busy:
		return false, notSent(errBusy)
	}
	if ctx.Done() != c.watch.done {
		c.watch.take(ctx, c.interrupt)
	}
	if c.watch.over {
		return false, notSent(context.Cause(ctx))
	}
	if c.net != nil && now.Sub(c.used) > idleFor && c.listen() != nil {
		c.drop()
	}
	c.used, c.busy = now, true
	c.sent.Store(false)
	return c.net != nil, nil
}

// notSent is the error of a request that was not sent.
func notSent(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// interrupt ends the exchange that goes on under a context that is over.
func (c *Conn) interrupt(done <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch.ends(done) && c.busy {
		c.cut()
	}
}

// cut ends what waits for the connection. It is locked.
func (c *Conn) cut() {
	if c.net != nil {
		_ = c.net.SetDeadline(time.Unix(1, 0)) // fails only if closed, which does as well
	}
}

// Connect makes a connection for the exchange that goes on, with TLS if there is a
// configuration, in the place of one that there may be.
func (c *Conn) Connect(ctx context.Context, addr string, config *tls.Config) error {
	c.mu.Lock()
	c.drop()
	c.mu.Unlock()
	conn, err := Dial(ctx, addr, config)
	if err != nil {
		return err
	}
	return c.adopt(conn)
}

// adopt takes a new connection for the exchange that goes on.
func (c *Conn) adopt(conn net.Conn) error {
	raw, err := rawOf(conn)
	if err != nil {
		return errors.Join(notSent(err), conn.Close())
	}
	c.In.reset(conn)
	c.turn = turn{conn: conn, in: &c.In, sent: &c.sent}
	if _, plain := conn.(*net.TCPConn); plain {
		c.turn.raw, c.turn.step = raw, c.turn.next
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.net, c.raw, c.broken = conn, raw, false
	switch {
	case c.closed:
		c.drop()
		return notSent(net.ErrClosed)
	case c.watch.over:
		return notSent(context.Canceled)
	}
	return nil
}

// Send writes a request in one piece. Without TLS it returns when the first of the
// answer is in In.
func (c *Conn) Send(request []byte) error {
	if c.turn.raw != nil {
		return c.turn.take(request)
	}
	if _, err := c.turn.conn.Write(request); err != nil {
		return err
	}
	c.sent.Store(true)
	return nil
}

// Write writes a part of a request, or its pieces.
func (c *Conn) Write(pieces ...[]byte) error {
	buffers := net.Buffers(pieces)
	_, err := buffers.WriteTo(c.turn.conn)
	return err
}

// Patience bounds reading in the exchange that goes on, unless its context is over;
// the zero time is no bound. Later reads fail with [os.ErrDeadlineExceeded].
func (c *Conn) Patience(until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch.over || c.net == nil {
		return os.ErrDeadlineExceeded
	}
	return c.net.SetReadDeadline(until)
}

// End ends an exchange. The connection is kept if it is reusable and was not
// interrupted.
func (c *Conn) End(reusable bool) {
	c.In.shrink()
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.busy = now, false
	if !reusable || c.broken || c.watch.over {
		c.drop()
	}
}

// Tend looks after the connection from beside its exchanges, and says whether there
// is one still. While none goes on, it first takes what the server said unasked. It
// calls do unless a request is being written, with whether an exchange goes on and
// for how long it does, or none does. An exchange that is about to begin or to end
// waits, so do writes with a deadline; it must not read. An error ends the
// connection.
func (c *Conn) Tend(do func(conn net.Conn, busy bool, since time.Duration) error) (connected bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.net == nil:
		return false
	case !c.busy:
		if c.listen() != nil || do(c.net, false, time.Since(c.used)) != nil {
			c.drop()
			return false
		}
	case c.sent.Load() && !c.watch.over && do(c.net, true, time.Since(c.used)) != nil:
		c.broken = true
		c.cut()
	}
	return true
}

// Close ends the connection, and the exchange that may go on; later ones don't begin.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.watch.forget()
	c.drop()
}

// drop closes the connection, if there is one. It is locked.
func (c *Conn) drop() {
	if c.net != nil {
		_ = c.net.Close() // nothing is unsent, and what is unread is lost on purpose
		c.net, c.raw = nil, nil
	}
}
