package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

// incumbent returns the last term and its leader, nil if it no longer leads. Service's lock is
// held.
func (e *elections) incumbent() (term int, by *registration) {
	term = len(e.terms) - 1
	if term < 0 || e.terms[term].by.over() {
		return term, nil
	}
	return term, e.terms[term].by
}

// takeAgain is the time until a key without a known owner is taken again.
const takeAgain = 100 * time.Millisecond

var errNoLeader = errors.New("there was no leader that could die")

// elect has the instances follow the leaders and compete to be the next. It returns once there is the
// first leader.
func (s *Service) elect(ctx context.Context) error {
	e := &s.elections
	electing := e.tasks.begin(ctx)
	for i := range s.Plan.Instances {
		if r := s.all[name{instance: i}]; r != nil {
			conn := 1 + len(s.consumers) + len(e.contenders)
			e.contenders = append(e.contenders, &contender{
				follower: newFollower(s, conn, fmt.Sprintf("instance %d", i), "follow the leader"), is: r, free: make(chan struct{}, 1), leader: -1,
			})
		}
	}
	errs := make([]error, len(e.contenders))
	s.keeper.Each(len(e.contenders), func(n int) {
		c := e.contenders[n]
		errs[n] = c.begin(ctx, electing, &e.tasks, c.changed)
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, c := range e.contenders {
		e.tasks.Go(func() { c.contend(electing) })
	}
	within, done := context.WithTimeout(ctx, followTimeout)
	defer done()
	select {
	case <-e.elected:
		return nil
	case <-within.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("elect a leader: %w", cmp.Or(s.why, context.Cause(within)))
	}
}

// endElections ends the contenders, except their connections. If a contender stopped following the
// leader earlier, elections may lack a candidate, and it notes that.
func (s *Service) endElections() {
	e := &s.elections
	e.tasks.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range e.contenders {
		if !c.lasted() {
			s.why = cmp.Or(s.why, fmt.Errorf("%s: %s: %w", c.who, c.what, c.err))
		}
	}
}

// changed notes which term the contender knows, and when it knew that a leader was gone.
func (c *contender) changed(change database.Change) {
	s := c.of
	instance, number, ok := s.Keys.Numbers(string(change.Key))
	if !ok || instance != s.leader() || c.is.died() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if change.New {
		c.leader = max(c.leader, number)
		return
	}
	s.mu.Lock()
	if _, gone := s.heardOf(name{instance, number}); gone != nil {
		s.heard(gone).notice(max(s.clock.Since(change.At), 1), change)
	}
	s.mu.Unlock()
	if number >= c.leader {
		c.leader = -1
		select {
		case c.free <- struct{}{}:
		default:
		}
	}
}

// contend tries to take the key that only one can have until the instance leads or is over.
func (c *contender) contend(ctx context.Context) {
	for ctx.Err() == nil && !c.is.over() {
		led, err := c.take(ctx)
		if ctx.Err() != nil || errors.Is(err, database.ErrNoSession) {
			return
		}
		if err != nil {
			c.of.mu.Lock()
			c.of.why = cmp.Or(c.of.why, fmt.Errorf("try to lead: %w", err))
			c.of.mu.Unlock()
		}
		if led {
			return
		}
		c.mu.Lock()
		known := c.leader >= 0
		c.mu.Unlock()
		if !known {
			sleep.For(ctx, takeAgain)
			continue
		}
		select {
		case <-c.free:
		case <-ctx.Done():
		}
	}
}

// take takes the key, and reports whether the instance leads now. Its own key announces it.
func (c *contender) take(ctx context.Context) (led bool, err error) {
	s, r := c.of, c.is
	r.Busy.Lock()
	defer r.Busy.Unlock()
	if r.over() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, keeper.RequestTimeout)
	defer cancel()
	value := make([]byte, s.ValueSize)
	if led, err = r.Is.(database.Taker).Take(ctx, []byte(s.Keys.Of(s.leader()+1, 0)), value); !led || err != nil {
		return false, err
	}
	s.mu.Lock()
	number := len(s.elections.terms)
	s.elections.terms = append(s.elections.terms, &term{by: r, elected: time.Now()})
	s.mu.Unlock()
	if err = r.Is.Attach(ctx, []byte(s.Keys.Of(s.leader(), number)), value); err == nil {
		// So that it is known when the TTL began: both requests renew some sessions. The keeper counts a
		// renewal that fails.
		_ = s.keeper.Renew(ctx, &r.Session)
	}
	select {
	case s.elections.elected <- struct{}{}:
	default:
	}
	return true, err
}
