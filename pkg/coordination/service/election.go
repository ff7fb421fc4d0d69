package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

// term is the time of a leader, which follows that of the leader before. All of it is under the lock of
// Service.
type term struct {
	by *registration
	// elected is when its session had the key that is for one alone.
	elected time.Time
	// came and gone are what was told of the leader's own key, which names the term.
	came, gone *heard
}

// contender is an instance that leads if nobody else does. It follows the leaders' keys over a
// connection of its own.
type contender struct {
	of    *Service
	n     int
	is    *registration
	on    database.Sessions
	ready chan struct{} // closed when it misses no leader any more
	over  chan struct{} // closed when it follows no more
	err   error         // why it stopped before its end; set before over is closed
	free  chan struct{} // has something when the last leader is gone

	mu     sync.Mutex
	leader int // the term that it knows, -1 for none
}

// takeAgain is the time after which a key is taken again that nobody is known to have.
const takeAgain = 100 * time.Millisecond

var errNoLeader = errors.New("there was no leader that could die")

// leader is the instance in the names of leaders' keys. The key that is for one alone has the next one.
func (s *Service) leader() int { return s.Plan.Instances + 1 }

// elect has the instances follow the leaders and compete to be the next. It returns once there is the
// first leader.
func (s *Service) elect(ctx context.Context) error {
	electing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = cancel
	for i := range s.Plan.Instances {
		if r := s.all[name{instance: i}]; r != nil {
			s.contenders = append(s.contenders, &contender{
				of: s, n: len(s.contenders), is: r, ready: make(chan struct{}), over: make(chan struct{}), free: make(chan struct{}, 1), leader: -1,
			})
		}
	}
	errs := make([]error, len(s.contenders))
	s.keeper.Each(len(s.contenders), func(n int) { errs[n] = s.contenders[n].begin(ctx, electing) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, c := range s.contenders {
		s.electing.Go(func() { c.contend(electing) })
	}
	within, done := context.WithTimeout(ctx, followTimeout)
	defer done()
	select {
	case <-s.elected:
		return nil
	case <-within.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("elect a leader: %w", cmp.Or(s.why, context.Cause(within)))
	}
}

// endElections ends what elect began.
func (s *Service) endElections() {
	if s.stop == nil {
		return
	}
	s.stop()
	s.electing.Wait()
	s.keeper.Each(len(s.contenders), func(n int) {
		if on := s.contenders[n].on; on != nil {
			_ = on.Close() // nothing is sent any more
		}
	})
}

// lead sets which leader dies, and reports whether there is one.
func (s *Service) lead(a *act) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.term = len(s.terms) - 1
	if a.term < 0 || s.terms[a.term].by.over() {
		return false
	}
	a.before = s.terms[a.term].by
	a.Instance = a.before.instance
	return true
}

// begin connects, and returns when the contender follows, until electing is over.
func (c *contender) begin(ctx, electing context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	if c.on, err = c.of.Dial(ctx, 1+len(c.of.consumers)+c.n); err != nil {
		return fmt.Errorf("dial for instance %d: %w", c.is.instance, err)
	}
	c.of.electing.Go(func() {
		defer close(c.over)
		c.err = c.on.Watch(electing, func() { close(c.ready) }, c.changed)
	})
	select {
	case <-c.ready:
		return nil
	case <-c.over:
		return fmt.Errorf("follow the leader: %w", cmp.Or(c.err, errors.New("the watch ended")))
	case <-ctx.Done():
		return fmt.Errorf("follow the leader: %w", context.Cause(ctx))
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
		s.heard(gone).notice(max(s.clock.Since(change.At), 1))
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

// contend tries to take the key that is for one alone until the instance leads, or is over.
func (c *contender) contend(ctx context.Context) {
	for ctx.Err() == nil && !c.is.over() {
		led, err := c.take(ctx)
		if led || ctx.Err() != nil || errors.Is(err, database.ErrNoSession) {
			return
		}
		if err != nil {
			c.of.mu.Lock()
			c.of.why = cmp.Or(c.of.why, fmt.Errorf("try to lead: %w", err))
			c.of.mu.Unlock()
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

// take takes the key, and reports whether the instance leads now. Its own key tells everybody.
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
	number := len(s.terms)
	s.terms = append(s.terms, &term{by: r, elected: time.Now()})
	s.mu.Unlock()
	err = r.Is.Attach(ctx, []byte(s.Keys.Of(s.leader(), number)), value)
	select {
	case s.elected <- struct{}{}:
	default:
	}
	return true, err
}
