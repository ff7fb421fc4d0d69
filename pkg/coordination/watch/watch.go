// Package watch runs clients that watch keys during a load, and judges the events that they receive
// from its writes: when they arrive, and whether each arrives, once and in order.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/sleep"
)

// New returns watchers that do not watch yet.
func New(o Options) *Watching {
	return &Watching{Options: o, base: time.Now(), judge: newJudge(o.Facts, o.Plan.Of, o.Load, int64(o.Unsure))}
}

// Receive takes the events on a connection.
func (c *connection) Receive(at time.Time, events []database.WatchEvent) {
	now := c.of.moment(at)
	c.of.judge.receive(now, events)
	c.heard.Add(int64(len(events)))
	c.reported.Store(now)
	c.came(now, events)
}

// Observe sees the requests of the load. It is a [load.Observer] method.
func (w *Watching) Observe(ended []load.Ended, before int64) error {
	w.judge.observe(ended, before)
	return w.write()
}

// write writes the seconds that are over. Events come in meanwhile.
func (w *Watching) write() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	seconds := w.judge.take()
	if len(seconds) == 0 {
		return nil
	}
	return w.Write(seconds)
}

// Prepare adds the watchers of the first stage.
func (w *Watching) Prepare(ctx context.Context) error { return w.add(ctx, 0) }

// Run adds the watchers of the other stages when it is time, makes some slow, and returns after the
// last stage.
func (w *Watching) Run(ctx context.Context) error {
	slowing, hurry := context.WithCancel(ctx)
	defer hurry()
	w.mu.Lock()
	w.hurry = hurry
	w.mu.Unlock()
	var failed error
	var once sync.Once
	err := w.run(ctx, func(stage int, start time.Time, length time.Duration) {
		conns := slices.Clone(w.conns)
		if w.Plan.Slow.Wanted() {
			w.pauses.Go(func() {
				if err := w.slowDown(slowing, stage, conns, start, length); err != nil {
					once.Do(func() { failed = err })
				}
			})
		}
		if w.Plan.Reconnect > 0 {
			w.pauses.Go(func() { w.reconnect(slowing, stage, conns, start, length) })
		}
	})
	w.pauses.Wait()
	return errors.Join(err, failed)
}

// run adds the watchers of the other stages, and calls began for each stage.
func (w *Watching) run(ctx context.Context, began func(stage int, start time.Time, length time.Duration)) error {
	start := time.Now()
	each := w.Load.Duration / time.Duration(len(w.Plan.Watchers))
	w.begin(0, start)
	began(0, start, each)
	for n := 1; n < len(w.Plan.Watchers); n++ {
		if !sleep.For(ctx, time.Until(start.Add(time.Duration(n)*each))) {
			return nil
		}
		w.judge.end(w.moment(time.Now()))
		if err := w.add(ctx, n); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		now := time.Now()
		w.begin(n, now)
		began(n, now, each)
	}
	return nil
}

// begin begins a stage whose watchers all watch.
func (w *Watching) begin(n int, at time.Time) {
	w.judge.begin(w.moment(at))
	w.mu.Lock()
	w.stages[n].Start = at.UTC()
	w.mu.Unlock()
	w.Began(at, w.Plan.Watchers[n])
}

// add adds the watchers that a stage has more than the one before.
func (w *Watching) add(ctx context.Context, n int) error {
	before, start := 0, time.Now()
	if n > 0 {
		before = w.Plan.Watchers[n-1]
	}
	now := w.Plan.Watchers[n]
	if err := w.connect(ctx, w.connectionsOf(now)); err != nil {
		return err
	}
	err := w.parallel(ctx, now-before, addTimeout, func(ctx context.Context, i int) error { return w.addOne(ctx, before+i) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stages = append(w.stages, watchers.Stage{Watchers: now, Connections: len(w.conns), Added: now - before, Establish: time.Since(start)})
	return err
}

// connect opens connections until there are n.
func (w *Watching) connect(ctx context.Context, n int) error {
	first := len(w.conns)
	for range n - first {
		w.conns = append(w.conns, &connection{of: w, slow: w.slow(len(w.conns)), n: len(w.conns)})
	}
	return w.parallel(ctx, n-first, addTimeout, func(ctx context.Context, i int) (err error) {
		c := w.conns[first+i]
		on, err := w.Dial(ctx, c.n, c)
		if err != nil {
			return fmt.Errorf("connect for watchers: %w", err)
		}
		c.reported.CompareAndSwap(0, w.moment(time.Now()))
		w.mu.Lock()
		defer w.mu.Unlock()
		c.on = on
		return nil
	})
}

// addOne adds one watcher, whose number among all is i.
func (w *Watching) addOne(ctx context.Context, i int) error {
	c := w.conns[i%len(w.conns)]
	if err := c.use(ctx); err != nil {
		return fmt.Errorf("add a watcher: %w", err)
	}
	defer c.adding.Done()
	if c.on == nil {
		return errors.New("add a watcher: its connection has ended and could not be opened again")
	}
	w.mu.Lock()
	id, r := w.judge.join(c.slow)
	c.watchers = append(c.watchers, id)
	w.mu.Unlock()
	after, err := c.on.Add(ctx, id, r)
	if err != nil {
		return fmt.Errorf("add watcher %d: %w", id, err)
	}
	w.judge.establish(id, after, w.moment(time.Now()))
	return nil
}

// End waits until the events from all writes have arrived, as far as they arrive, ends the watches,
// and judges missing ones. It does so after ctx is over too. The error comes from Write.
func (w *Watching) End(ctx context.Context) error {
	w.judge.end(w.moment(time.Now()))
	w.mu.Lock()
	hurry := w.hurry
	w.mu.Unlock()
	if hurry != nil {
		hurry()
		w.pauses.Wait()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), barrierTimeout)
	defer cancel()
	w.behind = w.parallel(ctx, len(w.conns), barrierTimeout, func(ctx context.Context, i int) error {
		c := w.conns[i]
		if c.on == nil || c.ended() {
			return nil
		}
		return c.on.Barrier(ctx)
	})
	w.behind = cmp.Or(w.behind, w.doubt)
	closing := sync.WaitGroup{}
	for _, c := range w.conns {
		if c.on != nil {
			closing.Go(func() { _ = c.on.Close() }) // it is no longer used
		}
	}
	closing.Wait()
	w.judge.finish(w.behind == nil)
	return w.write()
}

// Doubt makes End count missing events as behind, not as lost, for a reason. It is called before
// End.
func (w *Watching) Doubt(why error) { w.doubt = why }

// Outcome returns the record, after End.
func (w *Watching) Outcome() watchers.Outcome {
	o := watchers.Outcome{
		Plan: w.Plan, Kind: w.Facts.Kind, How: w.Facts.How, Ordered: w.Facts.Ordered, Coalesces: w.Facts.Coalesces, Values: w.Facts.Values,
		Counts: w.judge.counts, Witnesses: w.judge.witnesses, Broken: text(w.broken), BehindWhy: text(w.behind),
		SlowEnded: w.ended, SlowWhy: text(w.cut), GapWhy: gapText(w.judge.gap),
	}
	for n, s := range w.judge.times.stages {
		stage := w.stages[n]
		stage.Length = time.Duration(s.end - s.start)
		stage.Writes, stage.BeforeAck = s.writes, s.before
		stage.Sent, stage.Due, stage.All, stage.Old = s.spread(valueSent), s.spread(valueDue), s.spread(valueAll), s.spread(valueOld)
		if stage.Sent != nil {
			stage.Deliveries = stage.Sent.N
		}
		if slow := stage.Slow; slow != nil {
			slow.Sent = s.spread(valueSlow)
			slow.Written = float64(s.written) / float64(max(slow.Watchers, 1))
		}
		if stage.Reconnects != nil {
			stage.Reconnects.First, stage.Reconnects.CaughtUp = s.spread(valueFirst), s.spread(valueCaughtUp)
		}
		o.Stages = append(o.Stages, stage)
	}
	return o
}

func text(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "not all had come in time: " + err.Error()
	}
	return err.Error()
}
