package load

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/sleep"
)

const (
	// failBackAtOnce bounds the connections in a step that go back at the same time. It is small,
	// so that load requests hardly wait for them.
	failBackAtOnce = 16
	// failBackTimeout covers a whole step: a load may have recovered before a restarted member
	// serves.
	failBackTimeout = 20 * time.Second
	failBackPause   = 200 * time.Millisecond // after a failed attempt
)

// watchFailBack makes connections go back whenever asked, until ctx ends.
func (s *step) watchFailBack(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case asked := <-s.Reconnect.FailBack:
			within, cancel := context.WithTimeout(ctx, failBackTimeout)
			stop := context.AfterFunc(asked.Within, cancel)
			asked.Result <- s.failBack(within)
			stop()
			cancel()
		}
	}
}

func (s *step) failBack(ctx context.Context) (all FailedBack) {
	var group errgroup.Group
	group.SetLimit(failBackAtOnce)
	each := make([]FailedBack, len(s.conns))
	for n, c := range s.conns {
		group.Go(func() error {
			each[n] = c.failBack(ctx)
			return nil
		})
	}
	_ = group.Wait()
	for _, one := range each {
		all.Add(one)
	}
	return all
}

// failBack goes back to the connection's first member if it failed over. Requests in flight are
// answered over the link they were sent on.
func (c *connection) failBack(ctx context.Context) FailedBack {
	old, away := c.failedOver()
	switch {
	case !away:
		return FailedBack{}
	case old == nil:
		return FailedBack{Away: 1}
	}
	first := c.reconnect.Members[c.first]
	client, err := c.reconnect.Dial(ctx, first)
	for err != nil && sleep.For(ctx, failBackPause) {
		client, err = c.reconnect.Dial(ctx, first)
	}
	if err != nil {
		return FailedBack{Away: 1}
	}
	if !c.replace(old, newLink(client, first)) {
		_ = client.Close() // nothing was sent over it
		return FailedBack{Away: 1}
	}
	return FailedBack{Returned: 1}
}

// failedOver reports whether the connection went to another member than its first one, and
// returns its link there, nil if it is lost.
func (c *connection) failedOver() (*link, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Load(), c.place != c.first
}

// replace replaces a link by one to the first member, unless it was lost meanwhile.
func (c *connection) replace(old, by *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Load() != old {
		return false
	}
	c.place = c.first
	c.current.Store(by)
	c.closeUnused(old)
	return true
}
