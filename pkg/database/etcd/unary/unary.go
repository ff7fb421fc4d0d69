// Package unary makes gRPC calls of one request and one reply, at the least cost
// to the machine of the caller.
//
// It speaks HTTP/2 (RFC 9113) and gRPC over it, as far as such calls need them:
// no streams of messages, no compression, no proxies and no retries. The deadline
// of a call is not told to the server; a call that is over its deadline is
// cancelled there.
package unary

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Config says where calls go.
type Config struct {
	// Addresses are the servers, as host:port. There is one connection to each, and
	// calls take those that are up in turn.
	Addresses []string
	// TLS is nil for plaintext.
	TLS *tls.Config
	// Metadata goes with every call.
	Metadata []Field
}

// Field is one field of metadata; its name is in lower case.
type Field struct{ Name, Value string }

// Client makes calls. Its connections are opened at once, and again when they are
// lost, with pauses of up to a second between tries. It is safe for concurrent
// use.
type Client struct {
	config Config
	timing timing
	peers  []*peer
	turn   atomic.Uint32
	calls  sync.Pool // of *call

	stop   context.CancelFunc
	ctx    context.Context // of the goroutines, until Close
	runs   sync.WaitGroup
	mu     sync.Mutex
	closed bool
	news   chan struct{} // closed when a peer has changed
}

// New returns a client that begins to connect. It must be closed.
func New(config Config) *Client { return start(config, usualTiming()) }

func start(config Config, timing timing) *Client {
	c := &Client{config: config, timing: timing, news: make(chan struct{})}
	c.calls.New = func() any { return &call{ended: make(chan struct{}, 1)} }
	c.ctx, c.stop = context.WithCancel(context.Background())
	for _, address := range config.Addresses {
		p := &peer{client: c, address: address}
		c.peers = append(c.peers, p)
		c.spawn(p)
	}
	return c
}

// Call sends one request to path, such as "/etcdserverpb.KV/Put", and hands the
// reply to read, which returns whether it keeps the bytes. It waits while a server
// is being connected to for the first time or after a loss; when none can be
// reached it fails at once.
//
// An error is that of ctx, of read, or one that [status] reads. unsent says that
// the server surely did not process the request; false promises nothing.
func (c *Client) Call(ctx context.Context, path string, m Message, read func(reply []byte) (keep bool, err error)) (unsent bool, err error) {
	k := c.calls.Get().(*call)
	defer c.calls.Put(k)
	k.reset(path)
	for {
		conn, err := c.pick(ctx)
		if err != nil {
			return true, err
		}
		if !conn.start(k, &m) {
			continue
		}
		if unsent, err := conn.wait(ctx, k); err != nil {
			return unsent, err
		}
		keep, err := read(k.reply.body[prefix:])
		if keep {
			k.reply.body = nil
		}
		return false, err
	}
}

// pick returns a connection, in turn.
func (c *Client) pick(ctx context.Context) (*conn, error) {
	for {
		if conn := c.ready(); conn != nil {
			return conn, nil
		}
		c.mu.Lock()
		news, err := c.news, c.why()
		c.mu.Unlock()
		if conn := c.ready(); conn != nil {
			return conn, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ready returns a connection that is up, nil if none is.
func (c *Client) ready() *conn {
	n := uint32(len(c.peers))
	if n == 1 {
		return c.peers[0].conn.Load()
	}
	first := c.turn.Add(1)
	for i := range n {
		if conn := c.peers[(first+i)%n].conn.Load(); conn != nil {
			return conn
		}
	}
	return nil
}

// why returns why no connection can be had, nil if one may come. The client is
// locked.
func (c *Client) why() error {
	if c.closed {
		return status.Error(codes.Canceled, "the client is closed")
	}
	err := status.Error(codes.Unavailable, "there is no server")
	for _, p := range c.peers {
		if p.failure == nil {
			return nil
		}
		err = p.failure
	}
	return err
}

// change makes a change to a peer known.
func (c *Client) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.news)
	c.news = make(chan struct{})
}

// spawn runs a peer, unless the client is closed.
func (c *Client) spawn(p *peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.runs.Go(func() { p.run(c.ctx) })
	}
	return !c.closed
}

// Close ends the connections, and every call that is under way. It returns when
// nothing of the client runs any more.
func (c *Client) Close() {
	c.change(func() { c.closed = true })
	c.stop()
	c.runs.Wait()
}
