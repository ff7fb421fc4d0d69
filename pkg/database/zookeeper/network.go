package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// network makes the connections for one go-zookeeper session. When the session is closed it closes
// the last connection or ends the attempt to connect; the library itself would wait for a server
// that hangs.
type network struct {
	tls       *tls.Config     // nil for plaintext
	maxPacket int             // bytes a server may announce
	failed    chan error      // errors from attempts; those beyond its capacity are dropped
	life      context.Context // ends when the session is closed: the library dials without a context
	end       context.CancelFunc
	mu        sync.Mutex
	conn      net.Conn // the last one
}

// newNetwork returns a network without a connection, for a cluster of that many members.
func newNetwork(config *tls.Config, members, maxPacket int) *network {
	n := &network{tls: config, maxPacket: maxPacket, failed: make(chan error, members)}
	n.life, n.end = context.WithCancel(context.Background())
	return n
}

// dial dials for the library.
func (n *network) dial(_, address string, _ time.Duration) (net.Conn, error) {
	if n.life.Err() != nil {
		return nil, net.ErrClosed
	}
	conn, err := exchange.Dial(n.life, address, n.tls)
	if err != nil {
		n.report(err)
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life.Err() != nil {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	n.conn = conn
	return &checkedConn{Conn: conn, network: n, packets: packetLimit{max: n.maxPacket}}, nil
}

func (n *network) report(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// checkedConn is a connection that reports an end before the server answered, which
// the library only logs. It also fails if the server announces more bytes than the
// library should allocate.
type checkedConn struct {
	net.Conn
	network  *network
	packets  packetLimit // of the one goroutine that reads
	answered atomic.Bool
}

func (c *checkedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.answered.Store(true)
		if bad := c.packets.check(b[:n]); bad != nil {
			c.network.report(bad)
			return 0, bad
		}
	} else if err != nil && !c.answered.Load() {
		c.network.report(asNoAnswer(err))
	}
	return n, err
}

// Write sends a packet: the library writes each packet in one call.
func (c *checkedConn) Write(b []byte) (int, error) {
	c.packets.lists.sent(b)
	return c.Conn.Write(b)
}

// wait returns when the session is confirmed, ctx has ended, or no member confirmed a
// session.
func (n *network) wait(ctx context.Context, confirmed <-chan struct{}, members int) error {
	retries := newRetries(members)
	for {
		select {
		case <-confirmed:
			return nil
		case err := <-n.failed:
			if !retries.again(err) {
				return retries.failed()
			}
		case <-ctx.Done():
			return retries.ended(ctx)
		}
	}
}

// current returns the last connection.
func (n *network) current() net.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conn
}

// close closes the connection and refuses new ones.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.end()
	if n.conn != nil {
		_ = n.conn.Close() // the session has ended, or the server hangs
	}
}
