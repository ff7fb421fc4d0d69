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
	// pause comes before the next attempt; 0 after a connection that lasted. It belongs to the
	// goroutine that makes the attempts.
	pause time.Duration
}

// run connects and serves, again and again, until ctx ends or a retired connection
// was replaced, which started another goroutine.
func (p *peer) run(ctx context.Context) {
	timing := p.client.timing
	for ctx.Err() == nil {
		c, err := p.connect(ctx)
		began := time.Now()
		connected := err == nil
		if connected {
			p.publish(c)
			err = c.serve(ctx)
		}
		if c != nil && c.replaced {
			return
		}
		if connected && time.Since(began) > timing.longestPause {
			p.pause = 0
			continue // the connection worked, so reconnect at once
		}
		if !p.rest(ctx, timing.firstPause, err) {
			return
		}
	}
}

// replace runs after a connection that was retired. It connects at once, unless earlier
// connections did not last either.
func (p *peer) replace(ctx context.Context, began time.Time, why error) {
	if time.Since(began) > p.client.timing.longestPause {
		p.pause = 0
	}
	if p.rest(ctx, 0, why) {
		p.run(ctx)
	}
}

// rest pauses before the next attempt, at least so long, and reports whether ctx lasts. During a
// pause calls fail instead of waiting for a connection.
func (p *peer) rest(ctx context.Context, least time.Duration, why error) bool {
	timing := p.client.timing
	pause := max(p.pause, least)
	p.pause = min(max(pause*16/10, timing.firstPause), timing.longestPause)
	if pause == 0 {
		return ctx.Err() == nil
	}
	p.client.change(func() { p.failure = why })
	return sleep.For(ctx, time.Duration(float64(pause)*(0.8+0.4*rand.Float64())))
}

// connect returns a connection that is ready for calls. After an error it may return one that has
// ended.
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
	began := time.Now()
	c.replace = func(why error) bool {
		return p.client.spawn(func(ctx context.Context) { p.replace(ctx, began, why) })
	}
	if err := c.handshake(ctx, nc); err != nil {
		return c, status.Error(codes.Unavailable, fmt.Sprintf("connect to %s: %v", p.address, err))
	}
	return c, nil
}

// publish lets calls use a connection, unless it was retired since the handshake: another goroutine
// may already have replaced it.
func (p *peer) publish(c *conn) {
	c.link.Mu.Lock()
	defer c.link.Mu.Unlock()
	if c.link.Refuse != nil {
		return
	}
	p.client.change(func() {
		p.failure = nil
		p.conn.Store(c)
	})
}
