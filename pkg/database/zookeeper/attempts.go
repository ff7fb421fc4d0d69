package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// errSilent is what a plaintext client of a TLS port finds: the server closes.
var errSilent = errors.New("the server closed the connection without a word (perhaps it wants TLS, or fewer connections)")

// unheardOf tells why a connection ended so early. A server that refuses the
// client's certificate says so and means it; one that just closes may only be
// starting, or be overrun.
func unheardOf(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // crypto/tls's word for an alert
		return err
	}
	return &unheard{err}
}

// unheard is that a connection ended before the server said anything, and that the
// next one may not.
type unheard struct{ err error }

func (u *unheard) Error() string { return fmt.Sprintf("%v (%v)", errSilent, u.err) }

func (u *unheard) Unwrap() error { return u.err }

// attempts are those to get a session from any of some members. Each is given up
// after one connection that fails, or after three that end unheard.
type attempts struct {
	left     int
	failures []error
}

// tries is how many connections to one member may end unheard.
const tries = 3

func newAttempts(members int) *attempts { return &attempts{left: members * tries} }

// again says whether there is another attempt after one that failed.
func (a *attempts) again(err error) bool {
	a.left -= tries
	var u *unheard
	if errors.As(err, &u) {
		if a.left += tries - 1; a.left > 0 {
			return true // and the last one will tell
		}
	}
	a.failures = append(a.failures, err)
	return a.left > 0
}

// failed is what there is to tell when nobody was reached.
func (a *attempts) failed() error { return errors.Join(a.failures...) }

// ended is the same when ctx ended before.
func (a *attempts) ended(ctx context.Context) error {
	return errors.Join(fmt.Errorf("no session: %w", ctx.Err()), a.failed())
}
