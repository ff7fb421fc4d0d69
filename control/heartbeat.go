package control

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// heartbeats renew the agents' leases each second, tell them the number of
// clients, estimate their clocks, and notice when a member is lost.
type heartbeats struct {
	clients atomic.Int64
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	nudge   []chan struct{} // one for each agent: beat now
	// watching says that the members are known to have been running, and that
	// nobody has stopped them.
	watching atomic.Bool

	mu     sync.Mutex
	clocks []results.Clock // by member; without heartbeats if unknown
	lost   []string        // why, by member; "" while it is not
}

const (
	heartbeatEvery   = time.Second
	heartbeatTimeout = 5 * heartbeatEvery
	// heartbeatsMissed in a row make a member lost.
	heartbeatsMissed = 3
)

func newHeartbeats(members, clients int) *heartbeats {
	b := &heartbeats{cancel: func() {}, clocks: make([]results.Clock, members), lost: make([]string, members)}
	b.clients.Store(int64(clients))
	return b
}

func (c *conductor) startHeartbeats(ctx context.Context) error {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b := c.beats
	b.cancel = cancel
	for _, a := range c.agents {
		nudge := make(chan struct{}, 1)
		b.nudge = append(b.nudge, nudge)
		b.wg.Go(func() { c.beat(own, a, nudge) })
	}
	return nil
}

// stopHeartbeats ends the heartbeats and records what they learned.
func (c *conductor) stopHeartbeats(context.Context) error {
	b := c.beats
	b.cancel()
	b.wg.Wait()
	for i, clock := range b.clocks {
		if clock.N > 0 {
			c.run.Members[i].Clock = &clock
		}
	}
	return nil
}

// setClients tells all agents the number of clients at once.
func (b *heartbeats) setClients(n int) {
	b.clients.Store(int64(n))
	for _, nudge := range b.nudge {
		select {
		case nudge <- struct{}{}:
		default: // one is on its way already
		}
	}
}

// beat sends one agent its heartbeats until ctx ends.
func (c *conductor) beat(ctx context.Context, a *agentSession, nudge <-chan struct{}) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	missed := 0
	for {
		if err := c.beatOnce(ctx, a); err == nil {
			missed = 0
		} else if missed++; missed >= heartbeatsMissed && c.beats.watching.Load() {
			c.lose(a.index, fmt.Sprintf("%d heartbeats in a row failed: %v", missed, err))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-nudge:
		}
	}
}

func (c *conductor) beatOnce(ctx context.Context, a *agentSession) error {
	ctx, cancel := within(ctx, heartbeatTimeout)
	defer cancel()
	sent := time.Now()
	reply, err := a.client.Heartbeat(ctx, &dbtesterpb.HeartbeatRequest{
		RunId: a.runID, Clients: int32(c.beats.clients.Load()), SentUnixNs: sent.UnixNano(),
	})
	if err != nil {
		return a.failed(ctx, err)
	}
	c.beats.clock(a.index, sent, time.Now(), reply)
	// An agent whose member dies notes its last words and then stops the session.
	switch reply.State {
	case dbtesterpb.State_STATE_STOPPING, dbtesterpb.State_STATE_STOPPED:
		if c.beats.watching.Load() {
			c.lose(a.index, obituary("it ended by itself", reply.Children))
		}
	}
	return nil
}

// clock estimates an agent's clock from one exchange (RFC 5905, section 8); the
// one with the shortest round trip counts.
func (b *heartbeats) clock(member int, sent, received time.Time, r *dbtesterpb.HeartbeatResponse) {
	trip := received.Sub(sent) - time.Duration(r.RepliedUnixNs-r.ReceivedUnixNs)
	offset := (time.Duration(r.ReceivedUnixNs-sent.UnixNano()) + time.Duration(r.RepliedUnixNs-received.UnixNano())) / 2
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.clocks[member]
	now := results.Clock{Offset: offset, Error: max(trip/2, 0), N: old.N + 1}
	if old.N > 0 && old.Error <= now.Error {
		now.Offset, now.Error = old.Offset, old.Error
	}
	b.clocks[member] = now
}

// lose remembers, once, that a member is gone.
func (c *conductor) lose(member int, why string) {
	b := c.beats
	b.mu.Lock()
	known := b.lost[member] != ""
	if !known {
		b.lost[member] = why
	}
	b.mu.Unlock()
	if !known {
		c.event("server lost", member, why)
		m := c.run.Members[member]
		c.say("member %d on %s is lost: %s", member+1, cmp.Or(m.Agent, m.Endpoint), why)
	}
}

// isLost tells whether a member is known to be gone.
func (b *heartbeats) isLost(member int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost[member] != ""
}
