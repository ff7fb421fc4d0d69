package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// connectTimeout bounds one attempt to connect to one member.
const connectTimeout = 5 * time.Second

// errSilent is what a plaintext client of a TLS port finds: the server closes.
var errSilent = errors.New("the server closed the connection without a word (perhaps it wants TLS, or fewer connections)")

// connect makes one connection, with TLS if there is a configuration for it.
func connect(ctx context.Context, config *tls.Config, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	dialer := &net.Dialer{}
	if config == nil {
		return dialer.DialContext(ctx, "tcp", address)
	}
	return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", address)
}

// network makes the connections of one session. When the session is closed it cuts
// the last one, made or in the making, where the library would wait for a server
// that hangs.
type network struct {
	tls    *tls.Config     // nil for plaintext
	failed chan error      // errors of attempts until wait returns, as far as there is room
	life   context.Context // ends when the session is closed: the library's dial has no context
	end    context.CancelFunc
	mu     sync.Mutex
	conn   net.Conn
}

// newNetwork returns a network with no connection yet, for that many members.
func newNetwork(config *tls.Config, members int) *network {
	n := &network{tls: config, failed: make(chan error, members)}
	n.life, n.end = context.WithCancel(context.Background())
	return n
}

// dial is the library's way to connect.
func (n *network) dial(_, address string, _ time.Duration) (net.Conn, error) {
	if n.life.Err() != nil {
		return nil, net.ErrClosed
	}
	conn, err := connect(n.life, n.tls, address)
	if err != nil {
		n.fail(err)
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life.Err() != nil {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	n.conn = conn
	return &greeted{Conn: conn, network: n}, nil
}

func (n *network) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// greeted is a connection that tells its network when it ends before the server
// said anything. The library only logs that, and connects again.
type greeted struct {
	net.Conn
	network *network
	heard   atomic.Bool
}

func (g *greeted) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if n > 0 {
		g.heard.Store(true)
	} else if err != nil && !g.heard.Load() {
		g.network.fail(unheardOf(err))
	}
	return n, err
}

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

// tries is how many connections to one member may end unheard.
const tries = 3

// wait returns when the session is confirmed, ctx ends or that many members are
// not reached.
func (n *network) wait(ctx context.Context, confirmed <-chan struct{}, members int) error {
	var failures []error
	for left := members * tries; left > 0; {
		select {
		case <-confirmed:
			return nil
		case err := <-n.failed:
			left -= tries
			var u *unheard
			if errors.As(err, &u) {
				if left += tries - 1; left > 0 {
					continue // and the last one will tell
				}
			}
			failures = append(failures, err)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("no session: %w", ctx.Err()), errors.Join(failures...))
		}
	}
	return errors.Join(failures...)
}

// close cuts the connection and refuses new ones.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.end()
	if n.conn != nil {
		// What it says does not matter: the server has answered, or never will.
		_ = n.conn.Close()
	}
}
