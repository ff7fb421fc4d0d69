// Package unary makes gRPC calls with one request, at the least cost to the client machine. The
// reply is one message, or a message stream that ends.
//
// It speaks gRPC over package http2, as far as such calls need it: no request streams (see package
// stream), no compression, no proxies and no retries. A call sends the time left until its deadline
// (grpc-timeout), and RST_STREAM when it ends early.
package unary

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// Config configures a client.
type Config struct {
	// Addresses are the servers, as host:port. There is one connection to each. Calls
	// use connected servers in turn.
	Addresses []string
	// TLS is nil for plaintext.
	TLS *tls.Config
	// Metadata is sent with every call.
	Metadata []http2.Field
	// LatePings means that the PINGs by which a grpc-go server measures its bandwidth are
	// acknowledged with the next request, or after 10 s.
	LatePings bool
}

// Client makes calls. It connects at once, and reconnects after a loss, with pauses of up to a
// second between attempts. It is safe for concurrent use.
type Client struct {
	config Config
	timing timing
	peers  []*peer
	turn   atomic.Uint32

	stop   context.CancelFunc
	ctx    context.Context // for the goroutines, until Close
	runs   sync.WaitGroup
	mu     sync.Mutex
	closed bool
	news   chan struct{} // closed when a peer has changed
}

// New returns a client that starts to connect. The caller must close it.
func New(config Config) *Client { return start(config, defaultTiming()) }

func start(config Config, timing timing) *Client {
	c := &Client{config: config, timing: timing, news: make(chan struct{})}
	c.ctx, c.stop = context.WithCancel(context.Background())
	for _, address := range config.Addresses {
		p := &peer{client: c, address: address}
		c.peers = append(c.peers, p)
		c.spawn(p.run)
	}
	return c
}

// Call sends one request to path, such as "/etcdserverpb.KV/Put", and passes the
// reply to read, which returns whether it keeps the bytes. Streamed messages go to m.Each instead.
// Call waits for the first connection attempt, and for the first one after a loss; when every
// attempt failed it returns at once.
//
// An error comes from ctx or read, or is one that package status reads. unsent means that the
// server surely did not process the request; false means that it may have.
func (c *Client) Call(ctx context.Context, path string, m *Message, read func(reply []byte) (keep bool, err error)) (unsent bool, err error) {
	k := calls.Get().(*call)
	defer k.keep()
	k.reset(path)
	if k.fiber, k.left = fiber.Of(ctx); k.fiber == nil {
		fiber.Leave(ctx) // the call may block the goroutine that may run here
		k.deadline, _ = ctx.Deadline()
	}
	for {
		conn := c.ready()
		if conn == nil {
			k.delay()
			if conn, err = c.await(ctx); err != nil {
				return true, err
			}
		}
		if !conn.start(k, m) {
			continue
		}
		if unsent, err := conn.wait(ctx, k); err != nil {
			return unsent, k.explain(ctx, err)
		}
		if m.Each != nil {
			return false, nil
		}
		keep, err := read(k.reply.body[http2.Prefix:])
		if keep {
			k.reply.body = nil
		}
		return false, err
	}
}

// explain returns the error of a failed call. A server cancels a stream whose grpc-timeout has
// passed.
func (k *call) explain(ctx context.Context, err error) error {
	if k.canceled {
		if deadline, bounded := ctx.Deadline(); bounded && !time.Now().Before(deadline) {
			return status.Error(codes.DeadlineExceeded, status.Convert(err).Message())
		}
	}
	return err
}

// calls keeps ended calls for reuse. All clients share them: a load may have thousands of
// clients, and a pool has its own memory for each.
var calls = sync.Pool{New: func() any { return &call{ended: make(chan struct{}, 1)} }}

// keep keeps a call for reuse, and keeps nothing else alive.
func (k *call) keep() {
	k.fiber, k.conn, k.reply.each = nil, nil, nil
	calls.Put(k)
}

// await waits for a connection.
func (c *Client) await(ctx context.Context) (*conn, error) {
	fiber.Leave(ctx) // for the goroutine that may have to connect
	for {
		c.mu.Lock()
		news, err := c.news, c.failure()
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

// ready returns the next connection, nil if there is none. Calls use connections in turn.
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

// failure returns why no server is connected, nil if an attempt has not ended yet. The
// client is locked.
func (c *Client) failure() error {
	if c.closed {
		return status.Error(codes.Canceled, "the client is closed")
	}
	err := status.Error(codes.Unavailable, "the client has no servers")
	for _, p := range c.peers {
		if p.failure == nil {
			return nil
		}
		err = p.failure
	}
	return err
}

// change changes a peer and wakes the calls that wait for one.
func (c *Client) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.news)
	c.news = make(chan struct{})
}

// spawn starts a goroutine for a peer, unless the client is closed, and reports whether it did.
func (c *Client) spawn(run func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.runs.Go(func() { run(c.ctx) })
	}
	return !c.closed
}

// Close closes the connections and fails running calls. It returns when the client goroutines have
// ended.
func (c *Client) Close() {
	c.change(func() { c.closed = true })
	c.stop()
	c.runs.Wait()
}
