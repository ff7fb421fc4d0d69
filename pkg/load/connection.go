package load

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/backoff"
	"github.com/coreos/dbtester/pkg/workload"
)

// link is one open connection to one member.
type link struct {
	client database.Client
	member int // -1 if it is not known
	// users counts the clients that may call client, and served is set once a request has found a
	// server; the connection lock guards both.
	users  int
	served bool
	resent int64 // requests that client had resent before the link
}

// connection holds one link after the other, shared by some clients in a step. When its link is
// lost, one goroutine opens the next and ends, after the attempts' goroutines.
type connection struct {
	reconnect *Reconnect // nil leaves links as they are
	failover  workload.Failover
	current   atomic.Pointer[link] // nil while unconnected
	// spawn starts a goroutine in the running step, with a context that ends with the step.
	spawn func(func(context.Context))

	mu    sync.Mutex
	up    chan struct{} // closed when the next link is open
	pause backoff.Pauses
	// place is the index in reconnect.Members of the link's member or, without a link, of the
	// member dialed last; first is the first member's index.
	place, first int
	losses       int64
	reopens      int64
	resent       int64 // requests resent by clients on closed links

	closing sync.WaitGroup // links being closed
}

// newConnection returns connection n in the whole step, which is open.
func newConnection(n int, client database.Client, reconnect *Reconnect, failover workload.Failover) *connection {
	c := &connection{reconnect: reconnect, failover: failover}
	member := -1
	if reconnect != nil {
		c.first = n % len(reconnect.Members)
		c.place = c.first
		member = reconnect.Members[c.place]
	}
	c.current.Store(newLink(client, member))
	return c
}

// newLink returns a link to the member named by the client, or to the preferred one.
func newLink(client database.Client, preferred int) *link {
	return &link{client: client, member: memberOf(client, preferred), resent: database.Resent(client)}
}

// acquire returns the link for one more client. Without a link it returns a channel, closed when
// there is one.
func (c *connection) acquire() (*link, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.current.Load(); l != nil {
		l.users++
		return l, nil
	}
	return nil, c.up
}

// release ends a client's use of a link. The last client to release a lost link closes it: until
// then, its requests in flight may still be answered.
func (c *connection) release(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.users--
	if l != c.current.Load() {
		c.closeUnused(l)
	}
}

// closeUnused closes a link taken out of use, unless clients still have it. The caller has the
// lock.
func (c *connection) closeUnused(l *link) {
	if l.users == 0 {
		c.resent += database.Resent(l.client) - l.resent
		c.closing.Go(func() { _ = l.client.Close() }) // no request is in flight
	}
}

// serves notes that a request over a link found a server. Only then does the
// back-off restart.
func (c *connection) serves(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.served = true
}

// next returns the place of the member to dial after a loss: the next one without an attempt or,
// without fail-over, the same one. It reports whether there is one.
func (c *connection) next(running []bool) (place int, free bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range c.reconnect.Members {
		if c.failover == workload.FailoverNext {
			c.place = (c.place + 1) % len(c.reconnect.Members)
		}
		if !running[c.place] {
			return c.place, true
		}
	}
	return c.place, false
}

// resends returns the requests that clients on all links have resent by themselves.
func (c *connection) resends() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.resent
	if l := c.current.Load(); l != nil {
		n += database.Resent(l.client) - l.resent
	}
	return n
}

// end returns the client that is open when a step ends, nil without one. All clients of the step
// must have ended.
func (c *connection) end() database.Client {
	c.closing.Wait()
	if l := c.current.Load(); l != nil {
		return l.client
	}
	return nil
}
