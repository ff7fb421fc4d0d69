package unary

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// start gives a call to the connection. It returns false, without any effect, if the
// connection accepts no more calls.
func (c *conn) start(k *call, m *Message) bool {
	c.link.Mu.Lock()
	if c.link.Refuse != nil {
		c.link.Mu.Unlock()
		c.withdraw()
		return false
	}
	c.streams.add(k, m)
	c.link.Requested()
	c.rest()
	if c.streams.nextID > http2.MaxWindow {
		c.retire(status.Error(codes.Unavailable, "the connection has no stream ids left"))
	}
	others := c.streams.live.count > 1
	write := c.link.Out.Claim()
	if write && k.fiber != nil { // writing would double the stacks of all fibers
		if !k.fiber.Later(&c.link.Out) {
			c.link.Out.Start()
		}
		write = false
	}
	c.link.Mu.Unlock()
	if write {
		c.link.Out.Write(others)
	}
	return true
}

// wait returns when the call or ctx has ended; in the second case it cancels the
// call. unsent means that the server surely did not process the request.
func (c *conn) wait(ctx context.Context, k *call) (unsent bool, err error) {
	if k.fiber != nil {
		return c.waitInFiber(ctx, k)
	}
	select {
	case <-k.ended:
		return k.unsent, k.err
	case <-ctx.Done():
	}
	if !c.cancel(k) {
		<-k.ended
		return k.unsent, k.err
	}
	return k.end == 0, ctx.Err()
}

// waitInFiber waits like wait, for a call whose fiber is continued by the goroutine that reads.
func (c *conn) waitInFiber(ctx context.Context, k *call) (unsent bool, err error) {
	k.conn = c
	k.fiber.WaitsFor(ctx, k)
	defer k.fiber.Waited()
	if ctx.Err() == nil || !c.cancel(k) {
		k.fiber.Wait()
		if !k.withdrawn {
			return k.unsent, k.err
		}
	}
	return k.end == 0, ctx.Err()
}

// Interrupt cancels the call of a fiber, unless it has ended.
func (k *call) Interrupt() {
	if k.conn.cancel(k) {
		go k.fiber.Continue()
	}
}

// cancel withdraws a call that has not ended, and reports whether it did: then its caller is
// not woken.
func (c *conn) cancel(k *call) bool {
	c.link.Mu.Lock()
	if k.over || k.withdrawn {
		c.link.Mu.Unlock()
		return false
	}
	k.withdrawn = true
	c.streams.drop(k)
	c.streams.Refill()
	over := c.link.Over()
	write := c.link.Out.Claim()
	c.link.Mu.Unlock()
	if over != nil {
		c.link.Look()
	}
	if write {
		c.link.Out.Write(false)
	}
	return true
}
