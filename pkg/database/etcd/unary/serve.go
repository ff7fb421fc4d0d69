package unary

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/wire/poller"
)

func newConn(timing timing, heads *requestHeads) *conn {
	c := &conn{
		timing: timing,
		ready:  make(chan struct{}), lost: make(chan error, 1), look: make(chan struct{}, 1),
		streams: streams{heads: heads, nextID: 1, most: 1<<63 - 1, window: firstWindow, initial: firstWindow},
		in:      reader{heads: newReplyHeads()},
	}
	c.streams.out = &c.out
	c.out.mu, c.out.refill, c.out.failed = &c.mu, c.streams.pump, func(err error) { c.fail(lost(err)) }
	return c
}

// handshake returns when the server's settings have arrived. After an error the connection has
// ended.
func (c *conn) handshake(ctx context.Context, nc net.Conn) error {
	if err := c.open(ctx, nc); err != nil {
		return cause(ctx, errors.Join(err, nc.Close()))
	}
	var err error
	select {
	case <-c.ready:
		return nil
	case err = <-c.lost:
		err = otherProtocol(c.in.buf[:c.in.have], err)
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = c.end(err)
	return err
}

// open sends what begins a connection, and then has what arrives read.
func (c *conn) open(ctx context.Context, nc net.Conn) error {
	stop := onDone(ctx, func() { _ = nc.Close() })
	defer stop()
	if _, err := nc.Write(preface()); err != nil {
		return err
	}
	c.mu.Lock() // what arrives at once waits for it
	defer c.mu.Unlock()
	served, err := poller.Serve(nc, c)
	c.net, c.out.net = served, served
	if c.pings.on {
		c.pings.socket, _ = served.(poller.LowWater)
	}
	return err
}

// cause returns the error of ctx if it has ended, else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// otherProtocol adds to an error which protocol the server speaks, if its first bytes
// show that.
func otherProtocol(received []byte, err error) error {
	const alert = "\x15\x03"
	switch b := string(received); {
	case len(b) >= 2 && b[:2] == alert:
		return fmt.Errorf("the server speaks TLS: %w", err)
	case len(b) >= 5 && b[:5] == "HTTP/":
		return fmt.Errorf("the server speaks HTTP/1 (perhaps HTTPS): %w", err)
	}
	return err
}

// serve returns when the connection or ctx has ended and every call that is left was ended.
func (c *conn) serve(ctx context.Context) error {
	timer := time.NewTimer(c.timing.keepalive)
	defer timer.Stop()
	for {
		var next time.Duration
		var err error
		select {
		case err = <-c.lost:
		case <-c.look:
			next, err = c.checkEnd()
		case <-timer.C:
			next, err = c.checkAlive()
		case <-ctx.Done():
			err = status.Error(codes.Canceled, "the client is closed")
			c.fail(err)
		}
		if err != nil {
			return c.end(err)
		}
		timer.Reset(next)
	}
}

// checkEnd returns an error if the connection is retired and has no calls. The next look is due
// after next: soon, if the connection has failed.
func (c *conn) checkEnd() (next time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failure != nil:
		return c.timing.linger, nil
	case c.drained():
		return 0, errDrained
	}
	return c.timing.keepalive, nil
}

// checkAlive is called when it was time to look whether the server is alive: it sends a
// keepalive ping if the server owes a reply, and returns an error if the last ping was not
// answered. The next call is due after next.
func (c *conn) checkAlive() (next time.Duration, err error) {
	next = c.timing.keepalive
	c.mu.Lock()
	switch {
	case c.failure != nil:
		err = c.failure
	case c.drained():
		err = errDrained
	case c.in.alive:
		c.in.pinged = false
	case c.in.pinged:
		err = fmt.Errorf("the server did not answer a keepalive ping within %v", c.timing.pingTimeout)
	case c.streams.live.count > 0:
		c.out.pending = append(appendHead(c.out.pending, 8, framePing, 0, 0), "dbtester"...)
		c.in.pinged, next = true, c.timing.pingTimeout
	}
	c.in.alive = false
	c.out.late = 0 // nothing waits for longer
	c.pings.rouse()
	write := c.out.claim()
	c.mu.Unlock()
	if write {
		c.out.write(false)
	}
	return next, err
}

// end fails every call that is left, waits for the writer and returns why the
// connection ended.
func (c *conn) end(err error) error {
	c.mu.Lock()
	c.out.broken = true
	if c.failure == nil {
		c.failure = lost(err)
	}
	if c.refuse == nil {
		c.refuse = c.failure
	}
	c.mu.Unlock()
	_ = c.net.Close() // nothing more is read or written
	c.mu.Lock()
	for k := range c.streams.live.all() {
		c.streams.conclude(k, k.end == 0 || k.end > c.out.reached, c.failure)
	}
	for len(c.streams.waiting) > 0 {
		c.streams.conclude(c.streams.waiting[0], true, c.failure)
	}
	c.mu.Unlock()
	c.withdraw()
	c.streams.wake()
	c.out.draining.Wait()
	return c.failure
}

// dialNet connects to address, with TLS if config is not nil.
func dialNet(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil || config == nil {
		return nc, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	if config.ServerName == "" {
		config.ServerName = host
	}
	secure := tls.Client(nc, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS handshake: %w", err), nc.Close())
	}
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, errors.Join(errors.New("the server speaks TLS but not HTTP/2"), nc.Close())
	}
	return secure, nil
}
