package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/backoff"
	"github.com/coreos/dbtester/pkg/workload"
)

// Reconnect replaces lost connections: broken ones, and ones refused by a member that
// cannot serve. A nil Reconnect leaves reconnecting to the database's clients, which
// retry with every request.
type Reconnect struct {
	// Members are the members that the load goes to. Connection n, numbered over all
	// parts of the step, first goes to Members[n % len(Members)].
	Members []int
	// Dial opens a connection to one member, with the abilities of the connections that the
	// step began with. It is called concurrently, once at a time for each connection and member.
	Dial func(ctx context.Context, member int) (database.Client, error)
	// Lost, if not nil, is called for each lost connection with the error that showed the
	// loss, and Opened for each reopened connection with its member. Both are called
	// concurrently and must return at once.
	Lost   func(member int, err error)
	Opened func(member int)
	// Gone, if not nil, reports whether all Members have ended for good. It is called
	// once a second and must return at once.
	Gone func() bool
	// FailBack has the step's connections that failed over go back to their first members; nil
	// if nothing asks for it.
	FailBack <-chan FailBack
}

// ErrMembersGone is the error of a step that ended early because no member that could
// answer was left.
var ErrMembersGone = errors.New("every member that the load goes to has ended")

// link is one open connection to one member.
type link struct {
	client database.Client
	member int // -1 if it is not known
	// users counts the step's clients that may call client, and served is set once a request
	// has found a server; both belong to the connection's lock.
	users  int
	served bool
	resent int64 // requests that client had resent before the link
}

// connection holds one link after the other, shared by some of a step's clients. When its
// link is lost, one goroutine opens the next and ends; those of its attempts end before.
type connection struct {
	reconnect *Reconnect // nil leaves links as they are
	failover  workload.Failover
	current   atomic.Pointer[link] // nil while there is none
	// spawn starts a goroutine of the running step, with a context that ends with the step.
	spawn func(func(context.Context))

	mu    sync.Mutex
	up    chan struct{} // closed when the next link is open
	pause backoff.Pauses
	// place is the place in reconnect.Members of the link's member or, without a link, of the member
	// that was dialed last; first is that of the first one.
	place, first int
	losses       int64
	reopens      int64
	resent       int64 // requests that clients of closed links resent

	closing sync.WaitGroup // links that are being closed
}

// newConnection returns connection n of the whole step, which is open.
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

// newLink returns a link to the member that the client names, or to the preferred
// one.
func newLink(client database.Client, preferred int) *link {
	return &link{client: client, member: memberOf(client, preferred), resent: database.Resent(client)}
}

// acquire returns the link for one more client. Without a link it returns a channel
// that is closed when there is one.
func (c *connection) acquire() (*link, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.current.Load(); l != nil {
		l.users++
		return l, nil
	}
	return nil, c.up
}

// release ends a client's use of a link. The last client to release a lost link closes it:
// until then, the link's requests in flight may still be answered.
func (c *connection) release(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.users--
	if l != c.current.Load() {
		c.closeUnused(l)
	}
}

// closeUnused closes a link that was taken out of use, unless clients still have it. The caller has
// the lock.
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

// lose takes a link out of use after an error, unless another client already did, and
// starts opening the next one.
func (c *connection) lose(l *link, err error) {
	if c.reconnect == nil || !c.remove(l) {
		return
	}
	c.spawn(c.reopen)
	if c.reconnect.Lost != nil {
		c.reconnect.Lost(l.member, err)
	}
}

func (c *connection) remove(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Load() != l {
		return false
	}
	c.current.Store(nil)
	c.up = make(chan struct{})
	c.losses++
	if l.served {
		c.pause.Reset()
	}
	return true
}

// reopen opens the next link after a loss, unless ctx ends first. A thousand connections
// need a few thousand goroutines for that only when all of them are lost.
func (c *connection) reopen(ctx context.Context) {
	all := newAttempts(c)
	defer all.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(c.pause.Next()) // the pauses are not reset while there is no link
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			if all.begin(ctx) {
				timer.Reset(backoff.Overtake)
			}
		case one := <-all.ended:
			paused := all.end(one)
			if one.client != nil {
				// The connection may be lost again, which is the next goroutine's task.
				c.opened(one)
				return
			}
			if paused {
				timer.Reset(c.pause.Next())
			}
		}
	}
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

// opened makes the connection use the client of a successful attempt.
func (c *connection) opened(one attempt) {
	l := newLink(one.client, c.reconnect.Members[one.place])
	c.adopt(l, one.place)
	if c.reconnect.Opened != nil {
		c.reconnect.Opened(l.member)
	}
}

// adopt has the connection use a link to the member of a place.
func (c *connection) adopt(l *link, place int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reopens++
	c.place = place
	c.current.Store(l)
	close(c.up)
}

// resends returns how many requests the clients of all links have resent by themselves.
func (c *connection) resends() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.resent
	if l := c.current.Load(); l != nil {
		n += database.Resent(l.client) - l.resent
	}
	return n
}

// end returns the client that is open at the end of a step, nil if there is none. The
// step's clients must have ended.
func (c *connection) end() database.Client {
	c.closing.Wait()
	if l := c.current.Load(); l != nil {
		return l.client
	}
	return nil
}

// abandonAfter is how long all clients may be without a server before a step that has no
// other end is abandoned.
const abandonAfter = time.Minute

// watchServers abandons a step that would wait for ever: a closed loop without a duration
// whose members have all ended, or whose clients have all been without a server for
// abandonAfter.
func (s *step) watchServers(ctx context.Context, abandon context.CancelCauseFunc) {
	if s.rated() || s.Duration > 0 {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	served := s.rec.clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if s.Reconnect != nil && s.Reconnect.Gone != nil && s.Reconnect.Gone() {
			abandon(ErrMembersGone)
			return
		}
		now := s.rec.clock.Now()
		if slices.ContainsFunc(s.conns, func(c *connection) bool { return c.current.Load() != nil }) {
			served = now
		}
		if now-served > int64(abandonAfter) {
			abandon(fmt.Errorf("send requests: no member has accepted a connection for %v", abandonAfter))
			return
		}
	}
}
