// Package agentlink decides who may call an agent, and ensures that control calls the right agent.
// There are three kinds of links over TCP:
//
//   - with certificates, both sides use TLS 1.3 and verify each other (pkg/trust/certs);
//   - without certificates, on loopback addresses, both sides prove that they belong to the
//     same user (pkg/trust/usertoken);
//   - an open agent serves anyone who can reach it.
//
// A connection is admitted or closed before any byte of gRPC is read, so no verb works without a
// credential, and a run id alone grants nothing. Beyond loopback, links use TLS 1.3 with
// certificates from pkg/trust/certs. The role (agent or control) is a URI and the usage is server
// or client; both ends check both. Every call is checked again, because files change and
// certificates expire while a connection lasts.
//
// On loopback without certificates, both ends prove by HMAC-SHA256 that they know a token. The
// proofs cover random numbers from both sides and the address that one side dialed and the other
// listens on. A socket in a private folder would work as well, but agents keep the addresses named
// in experiment files: three agents on 127.0.0.1 to 127.0.0.3 are addressed like three machines.
// One proof per connection is enough, because other users can neither read nor take over a TCP
// connection on loopback. The agent proves first, and its proof is bound to its address, so a
// process listening elsewhere cannot relay it. Agents of --local and quickstart are reached through
// memory.
package agentlink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/trust/certs"
	"github.com/coreos/dbtester/pkg/trust/usertoken"
)

// Server decides which callers an agent admits. At most one of Certs, Token and Open is set;
// without them it admits no caller. It must not change after its first use.
type Server struct {
	Certs *certs.Source
	Token usertoken.Token
	// Open admits anyone, so it must be set deliberately.
	Open bool
	// Log receives a line for rejected connections, at most one per second; nil discards them.
	Log *slog.Logger
}

// maxHandshakes limits the connections that are not yet admitted. Others wait no longer than
// [Options] allows each, and memory is bounded.
const maxHandshakes = 256

// Options returns options for a gRPC server that admits the callers selected by s.
func (s Server) Options() []grpc.ServerOption {
	options := []grpc.ServerOption{grpc.Creds(s.credentials())}
	if s.Certs == nil {
		return options
	}
	unary := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if err := s.stillTrusts(ctx); err != nil {
			return nil, err
		}
		return handle(ctx, req)
	}
	stream := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if err := s.stillTrusts(ss.Context()); err != nil {
			return err
		}
		return handle(srv, ss)
	}
	return append(options, grpc.ChainUnaryInterceptor(unary), grpc.ChainStreamInterceptor(stream))
}

// stillTrusts checks a call on a connection that may be old: certificates expire and are replaced.
func (s Server) stillTrusts(ctx context.Context) error {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return status.Error(codes.Unauthenticated, "the caller is not known")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return status.Error(codes.Unauthenticated, "the caller showed no certificate")
	}
	if err := s.Certs.Trusts(info.State.PeerCertificates[0]); err != nil {
		return status.Errorf(codes.Unauthenticated, "the caller is not let in any more: %s", s.Certs.Reason(err, certs.RoleControl))
	}
	return nil
}

// serverCredentials implement Server for gRPC.
type serverCredentials struct {
	Server
	slots    chan struct{}
	refusals *refusals
}

func (s Server) credentials() *serverCredentials {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return &serverCredentials{Server: s, slots: make(chan struct{}, maxHandshakes), refusals: &refusals{log: s.Log}}
}

// ServerHandshake admits or rejects a connection. gRPC has set the deadline.
func (s *serverCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return nil, nil, s.refused(conn, "too many connections that have not shown who they are")
	}
	// HTTP/2, the hello with a token and TLS differ in their first bytes.
	first := make([]byte, len(usertoken.Hello))
	if _, err := io.ReadFull(conn, first); err != nil {
		return nil, nil, s.refused(conn, "it sent nothing that begins a connection: "+plain(err))
	}
	switch {
	case s.Certs != nil:
		return s.withCerts(&begun{Conn: conn, first: first}, string(first))
	case first[0] == recordHandshake:
		sayNo(conn, []byte("this agent speaks no TLS\n"))
		return nil, nil, s.refused(conn, "it speaks TLS, and this agent has no certificates")
	case s.Open:
		return s.withNothing(conn, first)
	default:
		return s.withToken(conn, string(first))
	}
}

func (s *serverCredentials) withCerts(conn *begun, first string) (net.Conn, credentials.AuthInfo, error) {
	switch {
	case first == http2Preface:
		answerPlaintext(conn.Conn, "this agent demands TLS (control --certs)")
		return nil, nil, s.refused(conn, "it speaks plaintext, and this agent demands TLS")
	case first == usertoken.Hello:
		sayNo(conn.Conn, tlsAlert)
		return nil, nil, s.refused(conn, "it has no certificate, and this agent demands TLS")
	}
	conn.held = true // gRPC would close a failed connection before the caller has read the reason
	safe, info, err := credentials.NewTLS(s.Certs.Server()).ServerHandshake(conn)
	conn.held = false
	if err != nil {
		refused := s.refused(conn, s.Certs.Reason(err, certs.RoleControl))
		linger(conn.Conn) // a caller reads the alert only after it has sent its first bytes
		return nil, nil, refused
	}
	return safe, info, nil
}

func (s *serverCredentials) withNothing(conn net.Conn, first []byte) (net.Conn, credentials.AuthInfo, error) {
	if string(first) != usertoken.Hello {
		return &begun{Conn: conn, first: first}, linkInfo{}, nil
	}
	if err := usertoken.AnswerOpen(conn); err != nil {
		return nil, nil, s.refused(conn, plain(err))
	}
	return conn, linkInfo{}, nil
}

func (s *serverCredentials) withToken(conn net.Conn, first string) (net.Conn, credentials.AuthInfo, error) {
	if first != usertoken.Hello {
		if first == http2Preface {
			answerPlaintext(conn, "this agent demands a proof of its user's token (pkg/trust/agentlink)")
		}
		return nil, nil, s.refused(conn, "it offers no proof of this user's token")
	}
	if err := usertoken.Answer(conn, s.Token); err != nil {
		return nil, nil, s.refused(conn, plain(err))
	}
	return conn, linkInfo{}, nil
}

// refused logs why a connection is rejected, and returns the error.
func (s *serverCredentials) refused(conn net.Conn, reason string) error {
	s.refusals.add(conn.RemoteAddr().String(), reason)
	return fmt.Errorf("connection of %s refused: %s", conn.RemoteAddr(), reason)
}

// plain formats a connection error without its addresses.
func plain(err error) string {
	switch {
	case errors.Is(err, usertoken.ErrStranger):
		return usertoken.ErrStranger.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "it took too long"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return strings.TrimSpace(err.Error())
}

// linkInfo describes a connection without TLS.
type linkInfo struct{ credentials.CommonAuthInfo }

func (linkInfo) AuthType() string { return "dbtester" }

// Info, Clone, OverrideServerName and ClientHandshake complete gRPC's interface.
func (s *serverCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "dbtester"}
}

func (s *serverCredentials) Clone() credentials.TransportCredentials { return s }
func (s *serverCredentials) OverrideServerName(string) error         { return nil }
func (s *serverCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are an agent's")
}
