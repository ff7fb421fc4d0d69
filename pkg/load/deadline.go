package load

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

var _ fiber.Context = (*callContext)(nil)

// Fiber returns the client's fiber, nil without one.
func (c *callContext) Fiber() *fiber.Fiber { return c.client.fiber }

// Value has the client's fiber.
func (c *callContext) Value(key any) any {
	if key == any(fiber.Key{}) {
		return c.client.fiber
	}
	return c.Context.Value(key)
}

// deadline returns the deadline for the request in flight, in nanoseconds.
func (c *callContext) deadline() (at int64, ok bool) {
	word := c.client.flight.word.Load()
	timeout := c.client.step.spec.Timeout
	return sentAt(word) + int64(timeout), word != 0 && timeout > 0
}

func (c *callContext) Deadline() (time.Time, bool) {
	at, ok := c.deadline()
	if !ok {
		return time.Time{}, false
	}
	return c.client.clock.Instant(at), true
}

// Left returns the time until the deadline, as of the last time that the client read the clock.
// Only the client may call it.
func (c *callContext) Left() time.Duration {
	at, ok := c.deadline()
	if !ok {
		return 0
	}
	return time.Duration(max(at-c.client.ran, 1))
}

// Err returns DeadlineExceeded if the watcher canceled the call.
func (c *callContext) Err() error {
	if !c.ended.Load() { // clients call this with every request, and the context's memory is far
		return nil
	}
	err := c.Context.Err()
	if err != nil && c.client.flight.word.Load()&flightExpired != 0 {
		return context.DeadlineExceeded
	}
	return err
}

// deadlineEvery returns the interval at which deadlines are checked: a call ends at most a
// hundredth of the time-out late, or a millisecond if that is more. It is 0 without a time-out.
func (s *step) deadlineEvery() time.Duration {
	timeout := s.spec.Timeout
	if timeout <= 0 {
		return 0
	}
	return min(max(timeout/100, time.Millisecond), 100*time.Millisecond)
}

// watchDeadlines cancels calls whose deadline passed, until ctx ends.
func (s *step) watchDeadlines(ctx context.Context, clients []*client) {
	every := s.deadlineEvery()
	if every == 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.expire(clients)
	}
}

// expire cancels the calls whose deadline has passed.
func (s *step) expire(clients []*client) {
	over := s.rec.clock.Now() - int64(s.spec.Timeout)
	for _, c := range clients {
		c.expire(over)
	}
}

// expire cancels the call if it was sent before a time. It marks the flight first. If it can set
// the mark, the call has not ended and still has this context; the client sees the mark and takes a
// new context.
func (c *client) expire(sentBefore int64) {
	word := c.flight.word.Load()
	if word == 0 || word&flightExpired != 0 || sentAt(word) > sentBefore {
		return
	}
	call := c.ctx.Load()
	if c.flight.word.CompareAndSwap(word, word|flightExpired) {
		call.end()
		c.fiber.Interrupt()
	}
}
