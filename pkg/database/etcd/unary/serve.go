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
)

func newConn(nc net.Conn, timing timing, heads *requestHeads) *conn {
	c := &conn{
		net: nc, timing: timing,
		streams: streams{heads: heads, nextID: 1, most: 1<<63 - 1, window: firstWindow, initial: firstWindow},
		in:      reader{heads: newReplyHeads()},
	}
	c.streams.out, c.in.try = &c.out, c.in.tryRead
	c.out.init(nc, &c.mu, c.streams.pump, func(err error) { c.fail(lost(err)) })
	return c
}

// handshake returns when the server's settings have arrived.
func (c *conn) handshake(ctx context.Context) error {
	stop := onDone(ctx, func() { _ = c.net.Close() })
	defer stop()
	if _, err := c.net.Write(preface()); err != nil {
		return cause(ctx, err)
	}
	for !c.in.settled {
		if err := c.read(); err != nil {
			return cause(ctx, otherProtocol(c.in.buf[:c.in.have], err))
		}
	}
	return c.net.SetReadDeadline(time.Now().Add(c.timing.keepalive))
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

// serve reads until the connection or ctx ends, and then ends every call that is
// left.
func (c *conn) serve(ctx context.Context) error {
	stop := onDone(ctx, func() {
		c.fail(status.Error(codes.Canceled, "the client is closed"))
		_ = c.net.Close()
	})
	defer stop()
	var err error
	for err == nil {
		err = c.read()
	}
	return c.end(err)
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
	for k := range c.streams.live.all() {
		c.streams.conclude(k, k.end == 0 || k.end > c.out.reached, c.failure)
	}
	for len(c.streams.waiting) > 0 {
		c.streams.conclude(c.streams.waiting[0], true, c.failure)
	}
	c.mu.Unlock()
	c.withdraw()
	c.streams.wake()
	_ = c.net.Close() // nothing more is read or written
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
