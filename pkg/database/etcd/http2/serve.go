package http2

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

// Serve looks after a connection. It returns why the connection has ended, after everything on it
// was ended and nothing more is read. The user then calls Out.Wait.
func (c *Conn) Serve(ctx context.Context) error {
	timer := time.NewTimer(c.timing.Keepalive)
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

// checkEnd returns an error if the connection is retired and carries nothing. The next look is due
// after next: soon, if the connection has failed.
func (c *Conn) checkEnd() (next time.Duration, err error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	switch {
	case c.failure != nil:
		return c.timing.Linger, nil
	case c.drained():
		return 0, errDrained
	}
	return c.timing.Keepalive, nil
}

// checkAlive is called when it was time to look whether the server is alive: it sends a
// keepalive ping if a stream is open and nothing has arrived, and returns an error if the last ping
// was not answered. The next call is due after next.
func (c *Conn) checkAlive() (next time.Duration, err error) {
	next = c.timing.Keepalive
	c.Mu.Lock()
	open, _ := c.carries.Count()
	switch {
	case c.failure != nil:
		err = c.failure
	case c.drained():
		err = errDrained
	case c.alive:
		c.pinged = false
	case c.pinged:
		err = fmt.Errorf("the server did not answer a keepalive ping within %v", c.timing.PingTimeout)
	case open > 0:
		c.Out.Pending = append(AppendHead(c.Out.Pending, 8, FramePing, 0, 0), "dbtester"...)
		c.pinged, next = true, c.timing.PingTimeout
	}
	c.alive = false
	c.Out.late = 0 // nothing waits for longer
	c.Pings.rouse()
	write := c.Out.Claim()
	c.Mu.Unlock()
	if write {
		c.Out.Write(false)
	}
	return next, err
}

// end ends everything left, and returns why the connection ended.
func (c *Conn) end(err error) error {
	c.Mu.Lock()
	c.Out.broken = true
	if c.failure == nil {
		c.failure = lost(err)
	}
	if c.Refuse == nil {
		c.Refuse = c.failure
	}
	c.Mu.Unlock()
	_ = c.net.Close() // nothing more is read or written
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.carries.Fail(c.failure)
	return c.failure
}

// Dial connects to address, with TLS if config is not nil.
func Dial(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
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
