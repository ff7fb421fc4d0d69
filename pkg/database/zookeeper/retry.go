package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// errNoGreeting is the error for a connection the server closed at once, as a TLS port does with
// plaintext.
var errNoGreeting = errors.New("the server closed the connection without an answer (it may require TLS, or have too many connections)")

// asNoAnswer wraps the error for a connection that ended before the server answered. It returns a
// TLS alert unchanged: the server refused the client certificate, and a retry would not help. A
// server that only closes the connection may still be starting, or may be overloaded.
func asNoAnswer(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // the name for an alert in crypto/tls
		return err
	}
	return &noAnswer{err}
}

// noAnswer is a connection that ended before the server answered anything. A retry
// may succeed.
type noAnswer struct{ err error }

func (n *noAnswer) Error() string { return fmt.Sprintf("%v (%v)", errNoGreeting, n.err) }

func (n *noAnswer) Unwrap() error { return n.err }

// maxTries is the number of connections to one member that may end without an answer.
const maxTries = 3

// retries counts attempts to get a session from any of several members. A member is given up after
// one connection that failed, or after three without an answer.
type retries struct {
	left   int
	errors []error
}

func newRetries(members int) *retries { return &retries{left: members * maxTries} }

// again records a failed attempt and reports whether to try again.
func (r *retries) again(err error) bool {
	r.left -= maxTries
	var n *noAnswer
	if errors.As(err, &n) {
		if r.left += maxTries - 1; r.left > 0 {
			return true // the error of the last attempt is kept instead
		}
	}
	r.errors = append(r.errors, err)
	return r.left > 0
}

// failed returns the errors of all members.
func (r *retries) failed() error { return errors.Join(r.errors...) }

// ended returns the errors so far, with that of ctx first.
func (r *retries) ended(ctx context.Context) error {
	return errors.Join(fmt.Errorf("no session: %w", exchange.Ended(ctx)), r.failed())
}
