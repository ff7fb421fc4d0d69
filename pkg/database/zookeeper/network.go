package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database/exchange"
)

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
	conn, err := exchange.Dial(n.life, address, n.tls)
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

// wait returns when the session is confirmed, ctx ends or that many members are
// not reached.
func (n *network) wait(ctx context.Context, confirmed <-chan struct{}, members int) error {
	attempts := newAttempts(members)
	for {
		select {
		case <-confirmed:
			return nil
		case err := <-n.failed:
			if !attempts.again(err) {
				return attempts.failed()
			}
		case <-ctx.Done():
			return attempts.ended(ctx)
		}
	}
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
