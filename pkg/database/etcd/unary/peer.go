package unary

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// peer is one server, and the connection to it while there is one.
type peer struct {
	client  *Client
	address string
	conn    atomic.Pointer[conn]
	// failure is why there is no connection; nil while there is one, and while the
	// first try after one has no result. The client's lock guards it.
	failure error
}

// timing is how patient a client is.
type timing struct {
	// connect is how long a try to connect may take, firstPause how soon the next
	// follows at first, longestPause at most.
	connect, firstPause, longestPause time.Duration
	// silence is how soon a silent server is asked for a sign of life if it owes a
	// reply, patience how soon it must give one. Servers close connections that ask
	// more often.
	silence, patience time.Duration
	// linger is how long replies are still read after a write failed.
	linger time.Duration
}

func usualTiming() timing {
	return timing{
		connect: 2 * time.Second, firstPause: 100 * time.Millisecond, longestPause: time.Second,
		silence: 10 * time.Second, patience: 5 * time.Second,
		linger: 100 * time.Millisecond,
	}
}

// run connects and reads, again and again, until ctx ends or until the connection
// was retired, which has another goroutine follow.
func (p *peer) run(ctx context.Context) {
	timing := p.client.timing
	pause := timing.firstPause
	for ctx.Err() == nil {
		c, err := p.connect(ctx)
		began := time.Now()
		if err == nil {
			p.have(c)
			err = c.serve(ctx)
			if c.replaced {
				return
			}
			if time.Since(began) > timing.longestPause {
				pause = timing.firstPause
				continue // at once: it was a good connection
			}
		}
		p.fail(err)
		if !sleep(ctx, time.Duration(float64(pause)*(0.8+0.4*rand.Float64()))) {
			return
		}
		pause = min(pause*16/10, timing.longestPause)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect returns a connection that is ready for calls.
func (p *peer) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.client.timing.connect)
	defer cancel()
	nc, err := dialNet(ctx, p.address, p.client.config.TLS)
	if err != nil {
		return nil, status.Error(codes.Unavailable, "connect: "+err.Error())
	}
	scheme := "http"
	if p.client.config.TLS != nil {
		scheme = "https"
	}
	c := newConn(nc, p, scheme, p.client.config.Metadata)
	if err := c.handshake(ctx); err != nil {
		_ = c.end(err)
		return nil, status.Error(codes.Unavailable, fmt.Sprintf("connect to %s: %v", p.address, err))
	}
	return c, nil
}

// have lets calls use a connection.
func (p *peer) have(c *conn) {
	p.client.change(func() {
		p.failure = nil
		p.conn.Store(c)
	})
	c.mu.Lock()
	refuses := c.refuse != nil // since the handshake
	c.mu.Unlock()
	if refuses {
		p.leave(c)
	}
}

// leave lets no call use a connection.
func (p *peer) leave(c *conn) { p.conn.CompareAndSwap(c, nil) }

// fail lets calls fail instead of wait.
func (p *peer) fail(err error) { p.client.change(func() { p.failure = err }) }

// replace has another connection follow one that is retired, which is locked.
func (p *peer) replace(c *conn) {
	p.leave(c)
	c.replaced = p.client.spawn(p)
}
