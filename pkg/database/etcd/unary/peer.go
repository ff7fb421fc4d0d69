package unary

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/sleep"
)

// peer is one server and the connection to it.
type peer struct {
	client  *Client
	address string
	conn    atomic.Pointer[conn] // nil while there is none
	// failure is why there is no connection. It is nil while there is one, and until the
	// first attempt after a loss has ended. The client lock guards it.
	failure error
}

// run connects and serves, again and again, until ctx ends or a retired connection
// was replaced, which started another goroutine.
func (p *peer) run(ctx context.Context) {
	timing := p.client.timing
	pause := timing.firstPause
	for ctx.Err() == nil {
		c, err := p.connect(ctx)
		began := time.Now()
		if err == nil {
			p.publish(c)
			err = c.serve(ctx)
			if c.replaced {
				return
			}
			if time.Since(began) > timing.longestPause {
				pause = timing.firstPause
				continue // the connection worked, so reconnect at once
			}
		}
		p.fail(err)
		if !sleep.For(ctx, time.Duration(float64(pause)*(0.8+0.4*rand.Float64()))) {
			return
		}
		pause = min(pause*16/10, timing.longestPause)
	}
}

// connect returns a connection that is ready for calls.
func (p *peer) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.client.timing.connect)
	defer cancel()
	nc, err := http2.Dial(ctx, p.address, p.client.config.TLS)
	if err != nil {
		return nil, status.Error(codes.Unavailable, "connect: "+err.Error())
	}
	scheme := "http"
	if p.client.config.TLS != nil {
		scheme = "https"
	}
	c := newConn(p.client.timing, http2.NewRequestHeads(scheme, p.address, p.client.config.Metadata))
	c.link.Pings.On = p.client.config.LatePings
	c.withdraw = func() { p.conn.CompareAndSwap(c, nil) }
	c.replace = func() bool { return p.client.spawn(p) }
	if err := c.handshake(ctx, nc); err != nil {
		return nil, status.Error(codes.Unavailable, fmt.Sprintf("connect to %s: %v", p.address, err))
	}
	return c, nil
}

// publish lets calls use a connection.
func (p *peer) publish(c *conn) {
	p.client.change(func() {
		p.failure = nil
		p.conn.Store(c)
	})
	c.link.Mu.Lock()
	retired := c.link.Refuse != nil // since the handshake
	c.link.Mu.Unlock()
	if retired {
		c.withdraw()
	}
}

// fail makes calls fail instead of waiting for a connection.
func (p *peer) fail(err error) { p.client.change(func() { p.failure = err }) }
