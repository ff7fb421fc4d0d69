package unary

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// start gives a call to the connection. It returns false, without any effect, if the
// connection accepts no more calls.
func (c *conn) start(k *call, m *Message) bool {
	c.mu.Lock()
	if c.refuse != nil {
		c.mu.Unlock()
		c.withdraw()
		return false
	}
	c.streams.add(k, m)
	if c.streams.nextID > maxWindow {
		c.retire(status.Error(codes.Unavailable, "the connection has no stream ids left"))
	}
	others := len(c.streams.live) > 1
	write := c.out.claim()
	c.mu.Unlock()
	if write {
		c.out.write(others)
	}
	return true
}

// wait returns when the call or ctx has ended; in the second case it cancels the
// call. unsent means that the server surely did not process the request.
func (c *conn) wait(ctx context.Context, k *call) (unsent bool, err error) {
	select {
	case <-k.ended:
		return k.unsent, k.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	if k.over {
		c.mu.Unlock()
		<-k.ended
		return k.unsent, k.err
	}
	c.streams.drop(k)
	c.streams.pump()
	c.stopIfDrained()
	write := c.out.claim()
	c.mu.Unlock()
	if write {
		c.out.write(false)
	}
	return k.end == 0, ctx.Err()
}
