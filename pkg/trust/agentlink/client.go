package agentlink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/coreos/dbtester/pkg/trust/certs"
	"github.com/coreos/dbtester/pkg/trust/usertoken"
)

// Client is the control side: which agents it calls, and how. It must not change after its first
// use.
type Client struct {
	// Certs makes every connection use TLS. If it is nil, the token is used.
	Certs *certs.Source
	// Token reads the user token. It is called for agents that require a proof.
	Token func() (usertoken.Token, error)
	// Insecure accepts agents that admit anyone, and agents on other machines without TLS.
	Insecure bool
	// Opened, if not nil, is called for each connection with the address of an agent that admits
	// anyone.
	Opened func(addr string)
}

// Credentials returns the transport credentials for connections to agents. Targets must be
// addresses: passthrough:///HOST:PORT.
func (c Client) Credentials() credentials.TransportCredentials { return &clientCredentials{c} }

// clientCredentials implement Client for gRPC.
type clientCredentials struct{ Client }

// ClientHandshake verifies the agent and authenticates the caller to it. The error states the
// reason in plain words.
func (c *clientCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	addr, err := url.PathUnescape(authority) // gRPC escapes the zone of an address
	if err != nil {
		return nil, nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, err
	}
	if c.Certs != nil {
		return c.withCerts(ctx, host, conn)
	}
	if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); !c.Insecure && (err != nil || !at.Addr().Unmap().IsLoopback()) {
		return nil, nil, fmt.Errorf("%s is on another machine (%s) and would be contacted without TLS", host, conn.RemoteAddr())
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, nil, err
		}
	}
	if err := c.explain(addr, usertoken.Call(conn, c.Token)); err != nil {
		return nil, nil, err
	}
	return conn, linkInfo{}, conn.SetDeadline(time.Time{})
}

// explain returns why an agent is not called, or nil.
func (c *clientCredentials) explain(addr string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, usertoken.ErrOpen) && c.Insecure:
		if c.Opened != nil {
			c.Opened(addr)
		}
		return nil
	case errors.Is(err, usertoken.ErrOpen):
		return errors.New("it was started with --insecure and lets in anyone; pass --insecure to control too if that is meant")
	case closed(err):
		return errors.New("it closed the connection: it rejects this control, or is not an agent of this version")
	}
	var foreign *usertoken.ForeignError
	if errors.As(err, &foreign) {
		return fmt.Errorf("%w (control --certs)", err)
	}
	return err
}

// closed reports whether the other side closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func (c *clientCredentials) withCerts(ctx context.Context, host string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if i := c.Certs.Info(); !i.Until.After(time.Now()) {
		return nil, nil, fmt.Errorf("control's certificate %s %s", i.Path, i.Warning(time.Now()))
	}
	safe, info, err := credentials.NewTLS(c.Certs.Client(host)).ClientHandshake(ctx, host, conn)
	if err != nil {
		return nil, nil, c.reason(err)
	}
	// An agent that rejects control's certificate reports it after its own handshake.
	return &explained{Conn: safe, reason: c.reason}, info, nil
}

func (c *clientCredentials) reason(err error) error {
	if closed(err) {
		return errors.New("it closed the connection: it may have been started without certificates")
	}
	return errors.New(c.Certs.Reason(err, certs.RoleAgent))
}

// explained is a connection that explains TLS alerts in plain words.
type explained struct {
	net.Conn
	reason func(error) error
}

func (e *explained) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		err = e.reason(err)
	}
	return n, err
}

// Info, Clone, OverrideServerName and ServerHandshake complete gRPC's interface.
func (c *clientCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "dbtester"}
}

func (c *clientCredentials) Clone() credentials.TransportCredentials { return c }
func (c *clientCredentials) OverrideServerName(string) error         { return nil }
func (c *clientCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are control's")
}
