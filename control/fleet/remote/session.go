// Package remote implements control's side of sessions with processes on other machines, agents or
// generators: the connection, the reservation for one run, the heartbeats, and errors that name the
// process.
package remote

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/control/fleet/claim"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/files/address"
)

// CallTimeout is for calls that wait for nothing.
const CallTimeout = 10 * time.Second

// Session calls a process whose service has the client C. One goroutine at a time changes it.
type Session[C any] struct {
	// Kind names the process in errors: "agent" or "generator".
	Kind, Addr, RunID string
	// Client is set by Dial.
	Client C
	// Reserved reports whether the process is, or may be, reserved for this run.
	Reserved bool

	conn io.Closer // nil without a connection
}

// Dial connects to the process.
func (s *Session[C]) Dial(ctx context.Context, dial func(ctx context.Context, addr string) (C, io.Closer, error)) (err error) {
	if s.Client, s.conn, err = dial(ctx, s.Addr); err != nil {
		s.conn = nil
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

// Connected reports whether there is a connection.
func (s *Session[C]) Connected() bool { return s.conn != nil }

// Disconnect closes the connection, if there is one.
func (s *Session[C]) Disconnect() error {
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	return conn.Close()
}

// Reserve reserves the process by a call that ends after d at the latest. If another run holds the
// process, the error is a [claim.HeldError].
func (s *Session[C]) Reserve(ctx context.Context, d time.Duration, call func(context.Context) error) error {
	ctx, cancel := Within(ctx, d)
	defer cancel()
	err := call(ctx)
	s.Reserved = s.Reserved || err == nil || ctx.Err() != nil // a call without an answer may have succeeded
	if err == nil {
		return nil
	}
	for _, detail := range status.Convert(err).Details() {
		if _, ok := detail.(*pb.Owner); ok {
			return &claim.HeldError{Err: s.Failed(ctx, err)}
		}
	}
	return s.Failed(ctx, err)
}

// String names the process.
func (s *Session[C]) String() string { return s.Kind + " " + s.Addr }

// Address returns the address for [ByAddress].
func (s *Session[C]) Address() string { return s.Addr }

// Failed returns why a call failed, with the name of the process.
func (s *Session[C]) Failed(ctx context.Context, err error) error {
	return Explain(ctx, s.String(), err)
}

// ByAddress returns sessions in the order in which all controls reserve processes: by address,
// however spelled.
func ByAddress[S interface{ Address() string }](list []S) []S {
	return slices.SortedStableFunc(slices.Values(list), func(a, b S) int { return Compare(a.Address(), b.Address()) })
}

// Compare orders addresses, however they are spelled.
func Compare(a, b string) int { return cmp.Compare(canonical(a), canonical(b)) }

// canonical returns the canonical spelling of an address.
func canonical(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return net.JoinHostPort(address.Canonical(host), port)
}

// Within returns a context that ends after d at the latest, with a cause that
// names d.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v", d))
}

// Explain returns why a call to who failed: the cause of ctx if it ended, else the message from the
// callee without the words that gRPC adds.
func Explain(ctx context.Context, who string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", who, cause)
	}
	answer := status.Convert(err)
	text := strings.TrimSpace(answer.Message())
	if answer.Code() == codes.DeadlineExceeded { // the other clock ran out first
		text = "no answer in time"
	}
	if reason, ok := unreached(text); ok {
		return fmt.Errorf("%s cannot be reached: %s", who, reason)
	}
	return fmt.Errorf("%s: %s", who, text)
}
