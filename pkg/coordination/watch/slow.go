package watch

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

// slow reports whether connection i is one of those that are slow: a share of all, at least one,
// evenly among them.
func (w *Watching) slow(i int) bool {
	if !w.Plan.Slow.Wanted() {
		return false
	}
	all := w.connectionsOf(w.Plan.Most())
	n := max(1, int(math.Round(float64(w.Plan.Slow.Share)/100*float64(all))))
	return (i+1)*n/all > i*n/all
}

// slowdown is one time in which connections of a stage read nothing.
type slowdown struct {
	of    *Watching
	stage int
	conns []*connection
	until chan struct{}
}

// slowDown makes connections slow in a stage that has begun and lasts for a time: from a quarter of
// it on. It returns when they have caught up, or at the end of ctx, and then they are not slow any
// more.
func (w *Watching) slowDown(ctx context.Context, stage int, conns []*connection, start time.Time, length time.Duration) error {
	s := &slowdown{of: w, stage: stage, until: make(chan struct{})}
	if !sleep.For(ctx, time.Until(start.Add(length/4))) {
		return nil
	}
	for _, c := range conns {
		if c.slow && !c.ended() {
			s.conns = append(s.conns, c)
		}
	}
	if len(s.conns) == 0 {
		return nil
	}
	begun := time.Now()
	err := s.hold()
	if err == nil {
		sleep.For(ctx, w.Plan.Slow.Pause)
	}
	released := time.Now()
	close(s.until)
	if err != nil {
		return err
	}
	is := &watchers.SlowStage{Connections: len(s.conns), Start: begun.UTC(), Length: released.Sub(begun)}
	for _, c := range s.conns {
		is.Watchers += c.number()
	}
	w.mu.Lock()
	w.stages[stage].Slow = is
	w.mu.Unlock()
	s.catchUp(ctx, is, released)
	return nil
}

// hold stops the reading.
func (s *slowdown) hold() error {
	for _, c := range s.conns {
		h, can := c.on.(database.Holder)
		if !can {
			return fmt.Errorf("connections of %s watches cannot be slow", s.of.Facts.Kind)
		}
		h.Hold(s.until)
	}
	return nil
}

// catchUp waits until the connections have all that was written before they read again.
func (s *slowdown) catchUp(ctx context.Context, is *watchers.SlowStage, released time.Time) {
	before := make([]int64, len(s.conns))
	for i, c := range s.conns {
		before[i] = c.heard.Load()
	}
	within, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	_ = s.of.parallel(within, len(s.conns), func(ctx context.Context, i int) error {
		c := s.conns[i]
		if c.on.Barrier(ctx) != nil {
			return nil // it has not caught up, which is judged at the end
		}
		took, events := time.Since(released), c.heard.Load()-before[i]
		s.of.mu.Lock()
		defer s.of.mu.Unlock()
		is.CaughtUp++
		is.CatchUp += took
		is.Longest = max(is.Longest, took)
		is.Changes += float64(events) / float64(max(len(c.watchers), 1))
		return nil
	})
}

// number is how many watchers a connection has.
func (c *connection) number() int {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return len(c.watchers)
}
