package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

const (
	// reconnectTimeout bounds the time until the watchers on a connection watch again. It is less
	// than addTimeout, because beginning a watch may wait for it.
	reconnectTimeout = addTimeout / 2
	// redialAfter is the wait before the next member is tried.
	redialAfter = 100 * time.Millisecond
)

// reconnect closes the connections of a stage that are not slow, and opens them again, each once in
// the planned time and evenly spread over it, until the stage or ctx ends. It returns when all
// watchers watch again.
func (w *Watching) reconnect(ctx context.Context, stage int, conns []*connection, start time.Time, length time.Duration) {
	conns = slices.DeleteFunc(slices.Clone(conns), func(c *connection) bool { return c.slow })
	if len(conns) == 0 {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	for i := 0; ; i++ {
		at := time.Duration(float64(i+1) / float64(len(conns)) * float64(w.Plan.Reconnect))
		if at >= length || !sleep.For(ctx, time.Until(start.Add(at))) {
			return
		}
		running.Go(func() { w.reopen(ctx, stage, conns[i%len(conns)]) })
	}
}

// reopen closes a connection and opens it again. Its watchers continue after the last version that
// they have received. ctx bounds only the wait until they have caught up.
func (w *Watching) reopen(ctx context.Context, stage int, c *connection) {
	on, cut, caught, done := w.renew(ctx, stage, c)
	if on == nil {
		return
	}
	defer done()
	if on.Barrier(caught) == nil { // otherwise it was not seen to catch up, or the end judges it
		w.judge.took(cut, valueCaughtUp, w.moment(time.Now())-cut)
	}
}

// renew closes a connection and opens it again, and returns when the watchers watch. Caught is over
// when the next time begins. Without success, on is nil.
func (w *Watching) renew(ctx context.Context, stage int, c *connection) (on database.Watches, cut int64, caught context.Context, done context.CancelFunc) {
	if !c.claim() {
		return nil, 0, nil, nil
	}
	defer c.release()
	if ctx.Err() != nil || c.ended() { // a connection that ended by itself is not repaired
		return nil, 0, nil, nil
	}
	cut = w.moment(time.Now())
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), reconnectTimeout)
	defer cancel()
	err := w.resume(within, c, cut)
	w.count(stage, c.number(), err)
	if err != nil {
		if !c.ended() {
			c.Broken(fmt.Errorf("watch again over a new connection: %w", err))
		}
		return nil, 0, nil, nil
	}
	caught, done = context.WithTimeout(ctx, barrierTimeout)
	w.mu.Lock()
	c.waits = done
	w.mu.Unlock()
	return c.on, cut, caught, done
}

// use returns when a connection is open, having added one to adding.
func (c *connection) use(ctx context.Context) error {
	for {
		c.of.mu.Lock()
		again := c.reopening
		if again == nil {
			c.adding.Add(1)
		}
		c.of.mu.Unlock()
		if again == nil {
			return nil
		}
		select {
		case <-again:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// claim waits for the exclusive use of a connection. It reports false if it is being opened again.
// The wait until it has caught up after the time before ends.
func (c *connection) claim() bool {
	c.of.mu.Lock()
	free := c.reopening == nil
	if free {
		c.reopening = make(chan struct{})
		if c.waits != nil {
			c.waits()
			c.waits = nil
		}
	}
	c.of.mu.Unlock()
	if free {
		c.adding.Wait()
	}
	return free
}

// release is called when a connection is open again.
func (c *connection) release() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	close(c.reopening)
	c.reopening = nil
}

// count counts a connection that was opened again, or could not be.
func (w *Watching) count(stage, n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.stages[stage]
	if s.Reconnects == nil {
		s.Reconnects = &watchers.Reconnects{}
	}
	if err != nil {
		s.Reconnects.Failed++
		return
	}
	s.Reconnects.Connections++
	s.Reconnects.Watchers += n
}

// resume closes a connection, dials until a member answers, and continues its watchers.
func (w *Watching) resume(ctx context.Context, c *connection, cut int64) error {
	// No event comes after Close, so that it is known which events the watchers have received.
	// Nothing else from the old connection counts.
	_ = c.on.Close()
	c.on = nil
	if c.ended() {
		return fmt.Errorf("the connection ended before it was closed")
	}
	c.cut.Store(cut)
	for n := c.n; ; n++ {
		on, err := w.Dial(ctx, n, c)
		if err == nil {
			c.on = on
			break
		}
		if !sleep.For(ctx, redialAfter) {
			return fmt.Errorf("connect for watchers: %w", err)
		}
	}
	on, can := c.on.(database.WatchResumer)
	if !can {
		return fmt.Errorf("%s watches cannot continue over a new connection", w.Facts.Kind)
	}
	return w.parallel(ctx, len(c.watchers), addTimeout, func(ctx context.Context, i int) error {
		id := c.watchers[i]
		r, after := w.judge.resume(id)
		if err := on.Resume(ctx, id, r, after); err != nil {
			return fmt.Errorf("continue watcher %d: %w", id, err)
		}
		return nil
	})
}

// came notes that the first event has come over a connection that was opened again.
func (c *connection) came(at int64, events []database.WatchEvent) {
	if c.cut.Load() == 0 || !slices.ContainsFunc(events, func(e database.WatchEvent) bool { return !e.Woken && !e.Gap }) {
		return
	}
	if cut := c.cut.Swap(0); cut != 0 {
		c.of.judge.took(cut, valueFirst, at-cut)
	}
}

// gapText describes the versions that the database had discarded.
func gapText(first *watchers.Witness) string {
	if first == nil {
		return ""
	}
	return fmt.Sprintf("watcher %d was not told of versions up to %d, which the database had discarded", first.Watcher, first.Version)
}
