package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// connectTimeout bounds one connection attempt, TLS handshake included.
const connectTimeout = 5 * time.Second

// Ended returns the error of a context that has ended, else nil. The deadline of a connection may pass
// a moment before the timer of its context runs, on a busy machine even longer.
func Ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, bounded := ctx.Deadline(); bounded && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Dial connects to addr within 5 seconds. With a config it uses TLS; the server name defaults to
// the host in addr. An error is a [*net.OpError] with Op "dial".
func Dial(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil || config == nil {
		return conn, err
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(&net.OpError{Op: "dial", Net: "tcp", Addr: conn.RemoteAddr(), Err: err}, conn.Close())
	}
	return secure, nil
}
