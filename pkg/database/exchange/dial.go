package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// connectTimeout bounds the making of one connection, TLS included.
const connectTimeout = 5 * time.Second

// Dial makes one connection, with TLS if there is a configuration, whose server name
// is the host of addr unless it has one. It takes 5 seconds at most. Its error is a
// [*net.OpError] of "dial".
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
