package watch

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

// slow reports whether connection i is slow, as is a share of all connections, at least one, evenly
// spread.
func (w *Watching) slow(i int) bool {
	if !w.Plan.Slow.Wanted() {
		return false
	}
	all := w.connectionsOf(w.Plan.Most())
	n := max(1, int(math.Round(float64(w.Plan.Slow.Share)/100*float64(all))))
	return (i+1)*n/all > i*n/all
}

// slowdown is one time in which connections in a stage read nothing.
type slowdown struct {
	of    *Watching
	stage int
	conns []*connection
	until chan struct{}
}

// slowDown makes connections slow in a stage that has begun and lasts for length, from a quarter of
// it on. It returns when they have caught up or ctx ends, and then they are no longer slow.
func (w *Watching) slowDown(ctx context.Context, stage int, conns []*connection, start time.Time, length time.Duration) error {
	s := &slowdown{of: w, stage: stage, until: make(chan struct{})}
	if !sleep.For(ctx, time.Until(start.Add(length/4))) {
		return nil
	}
	w.endCatchUps()
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
	is := &watchers.SlowStage{Connections: len(s.conns), Start: begun.UTC()}
	before := make([]int64, len(s.conns))
	for i, c := range s.conns {
		at := c.lastReport()
		is.Each = append(is.Each, watchers.CatchUp{Connection: c.n, Watchers: c.number(), BehindSince: at.UTC()})
		is.Watchers += is.Each[i].Watchers
		before[i] = c.heard.Load()
	}
	released := time.Now()
	is.Length = released.Sub(begun)
	w.judge.release(stage, s.conns, w.moment(released))
	close(s.until)
	if err != nil {
		return err
	}
	s.catchUp(ctx, is, released, before)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stages[stage].Slow = is
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

// endCatchUps ends the wait for connections to catch up after their last pause, and returns when it
// is over.
func (w *Watching) endCatchUps() {
	w.mu.Lock()
	end := w.catching
	w.mu.Unlock()
	if end != nil {
		end()
	}
}

// catchUp waits until the connections have all that was written before they read again at released,
// when they had received some events before. The wait ends with ctx, or by endCatchUps.
func (s *slowdown) catchUp(ctx context.Context, is *watchers.SlowStage, released time.Time, before []int64) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	defer close(over)
	defer cancel()
	s.of.mu.Lock()
	s.of.catching = func() {
		cancel()
		<-over
	}
	s.of.mu.Unlock()
	var all sync.WaitGroup
	for i, c := range s.conns {
		// All wait at the same time, because one that waits for its turn would seem to be behind.
		all.Go(func() {
			one := &is.Each[i]
			one.CaughtUp, one.Ended = c.catchUp(ctx)
			one.Took = time.Since(released)
			one.Changes = float64(c.heard.Load()-before[i]) / float64(max(one.Watchers, 1))
		})
	}
	all.Wait()
	until := time.Now()
	is.Waited = until.Sub(released)
	s.of.judge.caughtUp(s.stage, s.of.moment(until))
	for i := range is.Each {
		if one := &is.Each[i]; one.CaughtUp {
			is.CaughtUp++
			is.CatchUp += one.Took
			is.Longest = max(is.Longest, one.Took)
			is.Changes += one.Changes
		}
	}
}

// barrierAgain is the wait before a barrier is tried again, as when members elect a leader.
const barrierAgain = 100 * time.Millisecond

// catchUp waits until a connection has all that was written before. Otherwise it has ended, or ctx
// has.
func (c *connection) catchUp(ctx context.Context) (caughtUp, ended bool) {
	for {
		err := c.on.Barrier(ctx)
		switch {
		case err == nil:
			return true, false
		case c.ended():
			return false, true
		case !sleep.For(ctx, barrierAgain):
			return false, false
		}
	}
}

// lastReport returns when events last arrived over a connection, or when its watchers began if
// none have.
func (c *connection) lastReport() time.Time {
	return time.Unix(0, c.reported.Load())
}
