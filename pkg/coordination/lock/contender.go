package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/backoff"
	"github.com/coreos/dbtester/pkg/sleep"
)

// contender wants one lock again and again. It is used by one goroutine at a time.
type contender struct {
	contest *Contest
	stage   *stage
	name    *name
	number  int // in the stage
	of      int // the name's
	is      database.Contender
	turns   []locks.Turn
	pauses  backoff.Pauses // after requests that failed
}

// requestTimeout bounds a request, but not the wait for the lock.
const requestTimeout = 10 * time.Second

// open begins a session.
func (p *contender) open(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	p.is, err = p.contest.On.Contender(ctx)
	return err
}

// close ends the session, if there is one.
func (p *contender) close(ctx context.Context) error {
	if p.is == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	err := p.is.Close(ctx)
	p.is = nil
	return err
}

// contend takes turns until ctx ends, which is at a time or before.
func (p *contender) contend(ctx context.Context, until time.Time) {
	for ctx.Err() == nil && p.stage.room.Add(-1) >= 0 {
		if p.is == nil {
			if err := p.open(ctx); err != nil {
				if ctx.Err() == nil {
					p.stage.refused.add(err)
				}
				sleep.For(ctx, p.pauses.Next())
				continue
			}
		}
		t := locks.Turn{Stage: int32(p.stage.number), Name: int32(p.of), Contender: int32(p.number)}
		again := p.turn(ctx, until, &t)
		p.turns = append(p.turns, t)
		if !again {
			p.renew(ctx)
		}
		if t.End == locks.Refused {
			sleep.For(ctx, p.pauses.Next())
		} else {
			p.pauses.Reset()
		}
	}
}

// renew ends a session that is over, so that another begins.
func (p *contender) renew(ctx context.Context) {
	if err := p.close(ctx); err != nil && !errors.Is(err, database.ErrNoSession) {
		p.contest.left.add(err)
	}
}

// turn wants the lock once, and reports whether the session continues.
func (p *contender) turn(ctx context.Context, until time.Time, t *locks.Turn) (again bool) {
	c := p.contest
	var placed atomic.Int64 // another goroutine may know of the place
	t.Asked = c.now()
	held, err := p.is.Acquire(ctx, p.name.is, func() { placed.CompareAndSwap(0, c.now()) })
	now := c.now()
	t.Placed = placed.Load()
	if err != nil {
		if ctx.Err() == nil {
			t.End = locks.Refused
			p.stage.refused.add(err)
		}
		return !errors.Is(err, database.ErrNoSession)
	}
	t.Acquired, t.Fence = max(c.clock.Since(held.At), t.Asked), held.Fence
	c.stops.Seen(t.Asked, now)
	t.Stopped = c.stops.Delayed(max(p.name.free.Load(), t.Asked), now)
	end := p.hold(ctx, until, held.Lost)
	t.Sent = c.now()
	p.name.free.Store(t.Sent)
	switch t.End = end; end {
	case locks.Lost:
		return false
	case locks.Abandoned:
		c.Died(time.Now())
		p.is.Abandon()
		return false
	}
	return p.release(ctx, t)
}

// hold keeps the lock, and returns how that ends. An elected holder dies, unless no time is left
// for another: then it keeps the lock until ctx ends.
func (p *contender) hold(ctx context.Context, until time.Time, lost <-chan struct{}) locks.End {
	over := passed()
	if d := p.contest.Plan.Hold; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-lost:
			return locks.Lost
		case <-ctx.Done():
			return locks.Released
		case <-over:
		}
		switch {
		case !p.contest.Plan.Elect:
			return locks.Released
		case time.Until(until) > p.contest.latest+locks.Margin:
			return locks.Abandoned
		}
		over = nil
	}
}

// passed returns a channel like that of a timer that has fired.
func passed() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

// release gives the lock up.
func (p *contender) release(ctx context.Context, t *locks.Turn) (again bool) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	err := p.is.Release(within)
	t.Released = p.contest.now()
	switch {
	case err == nil:
	case errors.Is(err, database.ErrLockLost), errors.Is(err, database.ErrNoSession):
		t.End = locks.Lost
		return false
	default:
		t.End = locks.Unclear
		p.stage.refused.add(err)
		return false // whoever waits gets the lock when the session ends
	}
	return true
}
