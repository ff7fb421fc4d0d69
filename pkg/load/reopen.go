package load

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/load/backoff"
)

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

// reopen opens the next link after a loss, unless ctx ends first. A thousand connections need a
// few thousand goroutines for that only when all are lost.
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
				// The connection may be lost again, which is left to the next goroutine.
				c.opened(one)
				return
			}
			if paused {
				timer.Reset(c.pause.Next())
			}
		}
	}
}

// opened makes the connection use a successful attempt's client.
func (c *connection) opened(one attempt) {
	l := newLink(one.client, c.reconnect.Members[one.place])
	c.adopt(l, one.place)
	if c.reconnect.Opened != nil {
		c.reconnect.Opened(l.member)
	}
}

// adopt makes the connection use a link to the member at a place.
func (c *connection) adopt(l *link, place int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reopens++
	c.place = place
	c.current.Store(l)
	close(c.up)
}
