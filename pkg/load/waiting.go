package load

import (
	"math"
	"time"
)

// lateAfter is how much later than due, in nanoseconds, a request may be sent by the client's
// fault. A request beyond that counts as late: the delay is due to this machine, not to the
// database.
const lateAfter = int64(time.Millisecond)

// await waits until the client has a connection. It returns false if the step has no use for the
// client any more: a closed loop stopped issuing, a rate's drain is over, or no request is left to
// take. A client that holds a request of a rate waits until the drain ends. The wait is time
// without a server.
func (c *client) await(holds bool) bool {
	if c.follow() {
		return true
	}
	s := c.step
	c.shard.startWait(&c.flight, s.rec.clock.Now())
	defer func() { c.shard.endWait(&c.flight, s.rec.clock.Now()) }()
	for {
		l, up := c.conn.acquire()
		if l != nil {
			c.attach(l)
			return true
		}
		if !c.pauseFor(up, holds) {
			return false
		}
	}
}

// follow gives the client its connection's current link, and reports whether there is one.
func (c *client) follow() bool {
	c.detach()
	l, _ := c.conn.acquire()
	if l != nil {
		c.attach(l)
	}
	return l != nil
}

// endCheck is the time between two checks by a client without a server whether the drain of a rate
// is over: when a drain ends is known late.
const endCheck = 100 * time.Millisecond

// pauseFor waits for up, or returns false as await does.
func (c *client) pauseFor(up <-chan struct{}, holds bool) bool {
	s := c.step
	c.fiber.Leave()
	exhausted, passed := s.exhausted.done, s.stop.passed
	if holds {
		exhausted = nil
	}
	for {
		wait := int64(math.MaxInt64)
		if s.rated() {
			passed = nil
			if wait = s.drained() - s.rec.clock.Now(); wait <= 0 {
				return false
			}
			wait = min(wait, int64(endCheck))
		}
		alarm := c.alarm(wait)
		select {
		case <-up:
			return true
		case <-exhausted:
			return false
		case <-passed:
			return false
		case <-alarm.C:
		}
	}
}
