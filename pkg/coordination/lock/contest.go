// Package lock has contenders compete for locks during a load, keeps all their turns, and judges
// them: how fast a lock changes hands, how fairly, and whether two ever hold it at once.
package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/sleep"
)

// Options configure a [Contest].
type Options struct {
	On    database.Locks
	Facts database.LockFacts
	Plan  locks.Plan
	// Stage is the duration of one stage.
	Stage time.Duration
	// Name begins the names of all locks, which no other run has.
	Name string
	// Workers is the number of contenders that are opened or closed at the same time.
	Workers int
	// Began is called when contenders begin in a stage, and Died when a holder dies.
	Began func(at time.Time, contenders int)
	Died  func(at time.Time)
}

// Contest has the contenders of a run. Its methods are called one after the other: Run, End, Turns
// and Outcome.
type Contest struct {
	Options
	recipe database.LockRecipe
	// earliest and latest are when a lock passes after its holder's death.
	earliest, latest time.Duration

	clock  clock.Clock
	stops  *stops.Stops
	stages []*stage
	left   *failures // to close contenders
}

// stage has a fixed number of contenders.
type stage struct {
	number, each int
	from, to     int64 // ns
	names        []*name
	all          []*contender
	turns        []locks.Turn // by contenders that are over
	room         atomic.Int64 // for more turns
	missing      failures
	refused      failures
}

// name is a lock.
type name struct {
	is   []byte
	free atomic.Int64 // when it was last given up
}

// failures counts errors, and keeps the first. It is safe for concurrent use.
type failures struct {
	mu    sync.Mutex
	n     int
	first error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	f.first = cmp.Or(f.first, err)
}

// text returns the first error, or "".
func (f *failures) text() string {
	if f.first == nil {
		return ""
	}
	return f.first.Error()
}

// mostTurns is the number of turns that all stages have room for: 128 MB.
const mostTurns = 2_000_000

// New returns a contest that has not begun. Its plan is checked.
func New(o Options) (*Contest, error) {
	recipe, err := o.Facts.Recipe(o.Plan.Recipe)
	if err != nil {
		return nil, err
	}
	o.Workers = max(o.Workers, 1)
	c := &Contest{Options: o, recipe: recipe, clock: clock.New(), left: &failures{}}
	c.earliest, c.latest = o.Facts.Passes(recipe, o.Plan.Options())
	c.stops = stops.New(c.clock)
	return c, nil
}

// now reads the clock. 0 is never a moment in a turn.
func (c *Contest) now() int64 { return max(c.clock.Now(), 1) }

// Run runs one stage after the other, the first after one stage duration, until ctx ends. It
// returns an error if a stage has no contenders.
func (c *Contest) Run(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	var watchdog sync.WaitGroup
	watchdog.Go(func() { c.stops.Watch(watching, func(int64) {}) })
	defer func() { cancel(); watchdog.Wait() }()
	begin := time.Now()
	if !sleep.For(ctx, c.Stage) {
		return nil
	}
	for i, each := range c.Plan.Contenders {
		s := c.begin(i, each)
		c.stages = append(c.stages, s)
		until := begin.Add(time.Duration(i+2) * c.Stage)
		err := c.run(ctx, s, until)
		switch {
		case err != nil && ctx.Err() != nil && time.Now().Before(until):
			c.stages = c.stages[:i] // the load ended before any contender was opened
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return nil // End closes the contenders
		}
		c.close(ctx, s)
	}
	return nil
}

// begin returns a stage without contenders.
func (c *Contest) begin(number, each int) *stage {
	s := &stage{number: number, each: each}
	for n := range c.Plan.Names {
		s.names = append(s.names, &name{is: fmt.Appendf(nil, "%s-%d-%d", c.Name, number, n)})
	}
	s.room.Store(int64(mostTurns / len(c.Plan.Contenders)))
	return s
}

// run has a stage until a time.
func (c *Contest) run(ctx context.Context, s *stage, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	all := make([]*contender, s.each*len(s.names))
	c.parallel(len(all), func(i int) {
		p := &contender{contest: c, stage: s, name: s.names[i%len(s.names)], number: i, of: i % len(s.names)}
		if err := p.open(ctx); err != nil {
			s.missing.add(err)
			return
		}
		all[i] = p
	})
	s.all = slices.DeleteFunc(all, func(p *contender) bool { return p == nil })
	if len(s.all) == 0 {
		return fmt.Errorf("open %d contenders: %w", len(all), cmp.Or(s.missing.first, errors.New("none was opened")))
	}
	c.Began(time.Now(), len(s.all))
	s.from = c.now()
	var contending sync.WaitGroup
	for _, p := range s.all {
		contending.Go(func() { p.contend(ctx, until) })
	}
	contending.Wait()
	s.to = max(min(c.now(), c.clock.Since(until)), s.from)
	for _, p := range s.all {
		s.turns = append(s.turns, p.turns...)
		p.turns = nil
	}
	return nil
}

// parallel calls do with the numbers below n, several at a time.
func (c *Contest) parallel(n int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(c.Workers)
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	_ = group.Wait() // no call has an error
}

// closeTimeout bounds closing the contenders of a stage.
const closeTimeout = time.Minute

// close closes the contenders of a stage, also after ctx is over.
func (c *Contest) close(ctx context.Context, s *stage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	c.parallel(len(s.all), func(i int) {
		if err := s.all[i].close(ctx); err != nil {
			c.left.add(err)
		}
	})
	s.all = nil
}

// End closes all contenders that are left, also after ctx is over.
func (c *Contest) End(ctx context.Context) {
	for _, s := range c.stages {
		c.close(ctx, s)
	}
}

// Turns returns the turns in all stages, in the order in which they were asked for.
func (c *Contest) Turns() (turns []locks.Turn) {
	for _, s := range c.stages {
		from := len(turns)
		turns = append(turns, s.turns...)
		slices.SortStableFunc(turns[from:], func(a, b locks.Turn) int { return cmp.Compare(a.Asked, b.Asked) })
	}
	return turns
}
