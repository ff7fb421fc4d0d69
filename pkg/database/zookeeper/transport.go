package zookeeper

import (
	"context"
	"fmt"
)

// Transport names what carries a client's requests.
type Transport string

// The transports. Both keep one session on one connection and send one request at a
// time.
const (
	// Lean is one connection with packets of our own making, the default.
	Lean Transport = "lean"
	// Standard is go-zookeeper's client.
	Standard Transport = "standard"
)

// Validate refuses a name that is no transport.
func (t Transport) Validate() error {
	if t != Standard && t != Lean {
		return fmt.Errorf("transport %q is not %s or %s", t, Lean, Standard)
	}
	return nil
}

// requests are what a client asks of the servers in a session, one after the other.
// Their errors are classed, and wrap go-zookeeper's name for what a server said.
// What is created has the access of the session. Paths are only read during a call.
type requests interface {
	add(ctx context.Context, path, value []byte) error
	set(ctx context.Context, path, value []byte, version int32) error
	remove(ctx context.Context, path []byte) error
	get(ctx context.Context, path []byte) (value []byte, version int32, err error)
	// sync waits until the server that the session is with has all that was written
	// before.
	sync(ctx context.Context, path []byte) error
	// close ends the session and returns when everything that belongs to it has
	// ended: after the server's answer, or after a second without one.
	close()
}

var (
	_ requests = (*session)(nil)
	_ requests = (*lean)(nil)
)

// anyVersion makes a request unconditional.
const anyVersion = -1
