// Package contenders keeps the contenders with which requests of a load take locks, and judges what
// they hold: whether two ever held one lock, and whether fences rise.
package contenders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Clock is the time of a load, in nanoseconds.
type Clock interface {
	Now() int64
	// Since converts a time that this process read from its clock to a moment.
	Since(t time.Time) int64
}

// Stopped reports whether this process was stopped for at least a time between two moments.
type Stopped func(from, to int64, least time.Duration) bool

// Pool is the contenders of one part of a load. It is safe for concurrent use, except [Pool.Begin],
// [Pool.Over], [Pool.Open] and [Pool.Close], which are called between two steps.
type Pool struct {
	plan    workload.Locks
	expires time.Duration // after its last renewal a session is over
	risky   time.Duration // a stop of this length may end one
	clock   Clock
	stopped Stopped

	on []database.Locks // one for each member that contenders go to

	mu     sync.Mutex // guards the fields below
	opened int
	free   []database.Contender
	names  map[int64]*name
	counts results.LoadLocks
}

// name is the knowledge of a lock that was held.
type name struct {
	holders  map[*Turn]struct{}
	longest  span // the ended one with the latest end
	fence    int64
	acquired int64 // when the lock with the fence was acquired
}

// span is the time in which a holder believed that it holds a lock.
type span struct{ acquired, sent int64 }

// New returns a pool without contenders. [Pool.Begin] must be called before a lock is acquired.
func New(plan workload.Locks, facts database.LockFacts) *Pool {
	ttl := facts.Session.Granted(plan.TTL)
	soonest, latest := facts.Session.Ends(ttl, 1)
	p := &Pool{plan: plan, expires: latest, risky: soonest - facts.Renews(ttl), names: map[int64]*name{}}
	p.counts = results.LoadLocks{Recipe: plan.Recipe, TTL: ttl}
	if r, err := facts.Recipe(plan.Recipe); err == nil {
		p.counts.By, p.counts.Fence = r.By(), r.Fence
	}
	return p
}

// Begin declares the clock of the load, and the record of this process's stops.
func (p *Pool) Begin(clock Clock, stopped Stopped) { p.clock, p.stopped = clock, stopped }

// Over declares the members' locks that make contenders, in turn.
func (p *Pool) Over(on []database.Locks) { p.on = on }

// Open opens contenders until n are free, each within a time.
func (p *Pool) Open(ctx context.Context, n int, within time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(connect.AtOnce)
	for range n - len(p.free) {
		group.Go(func() error {
			c, err := p.open(ctx, within)
			if err != nil {
				return err
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.free = append(p.free, c)
			p.counts.Opened++
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return errors.Join(fmt.Errorf("open %d contenders for locks: %w", n, err), p.Close(context.WithoutCancel(ctx), within))
	}
	return nil
}

// open begins the session of a contender.
func (p *Pool) open(ctx context.Context, within time.Duration) (database.Contender, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return p.next().Contender(ctx)
}

// next returns the locks that make the next contender.
func (p *Pool) next() database.Locks {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	return p.on[(p.opened-1)%len(p.on)]
}

// Close closes the free contenders, which between two steps are all. It returns the error of the
// first that could not be closed.
func (p *Pool) Close(ctx context.Context, within time.Duration) error {
	free := p.free
	p.free = nil
	var group errgroup.Group
	group.SetLimit(connect.AtOnce)
	for _, c := range free {
		group.Go(func() error { return p.close(ctx, c, within) })
	}
	return group.Wait()
}

// close ends the session of a contender. An already ended session is not an error.
func (p *Pool) close(ctx context.Context, c database.Contender, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := c.Close(ctx)
	if errors.Is(err, database.ErrNoSession) {
		err = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.counts.Left++
		p.counts.Why = cmp.Or(p.counts.Why, err.Error())
	}
	return err
}

// Counts returns the counts of all locks so far.
func (p *Pool) Counts() results.LoadLocks {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Turn is a lock that a request acquired. It has one caller at a time, who calls Keep and then
// Release.
type Turn struct {
	pool   *Pool
	by     database.Contender
	is     *name
	held   database.Held
	within time.Duration
	// Acquired is when the holder knew that it holds the lock.
	Acquired int64
}

// Acquire takes the lock of a number, whose name is key. The next request replaces a contender
// whose session has ended, within a time.
func (p *Pool) Acquire(ctx context.Context, number int64, key []byte, within time.Duration) (*Turn, error) {
	c, err := p.take(ctx, within)
	if err != nil {
		return nil, err
	}
	over := true // the session is over, also after a panic
	defer func() {
		if over {
			_ = p.close(context.WithoutCancel(ctx), c, within)
		}
	}()
	held, err := c.Acquire(ctx, key, nil)
	if err != nil {
		if over = errors.Is(err, database.ErrNoSession); !over {
			p.give(c)
		}
		return nil, err
	}
	over = false
	t := &Turn{pool: p, by: c, held: held, within: within, Acquired: p.clock.Since(held.At)}
	p.note(number, t)
	return t, nil
}

// take returns a contender that is free, or opens one.
func (p *Pool) take(ctx context.Context, within time.Duration) (database.Contender, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := p.open(ctx, within)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Replaced++
	return c, nil
}

// give takes a contender back.
func (p *Pool) give(c database.Contender) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, c)
}

// note judges a lock that was acquired.
func (p *Pool) note(number int64, t *Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Acquired++
	n := p.names[number]
	if n == nil {
		n = &name{holders: map[*Turn]struct{}{}}
		p.names[number] = n
	}
	t.is = n
	since, twice := n.longest.acquired, t.Acquired < n.longest.sent
	for other := range n.holders {
		since, twice = other.Acquired, true
		break
	}
	switch {
	case !twice:
	case p.stopped(min(since, t.Acquired), p.clock.Now(), p.risky):
		p.counts.Believed++
	default:
		p.counts.Overlaps++
	}
	if n.fence > 0 && t.held.Fence <= n.fence && !p.stopped(n.acquired, p.clock.Now(), p.risky) {
		p.counts.Disorder++
	}
	n.fence, n.acquired = t.held.Fence, t.Acquired
	n.holders[t] = struct{}{}
}

// Keep holds the lock for the time of the load, or until the holder learns that it has lost it.
func (t *Turn) Keep() {
	hold := t.pool.plan.Hold
	if hold <= 0 {
		return
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.held.Lost:
	}
}

// Release gives the lock up. The outcome is counted, and is not an error of the request.
func (t *Turn) Release(ctx context.Context) {
	p := t.pool
	sent := p.over(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.within)
	defer cancel()
	err := t.by.Release(ctx)
	believed := sent-t.Acquired > int64(p.expires) && p.stopped(t.Acquired, sent, p.expires)
	p.mu.Lock()
	if believed {
		p.counts.Believed++
	}
	lost := errors.Is(err, database.ErrLockLost) || errors.Is(err, database.ErrNoSession)
	switch {
	case err == nil:
		p.counts.Released++
		p.free = append(p.free, t.by)
	case lost:
		p.counts.Lost++
	default:
		p.counts.Unclear++
		p.counts.Why = cmp.Or(p.counts.Why, err.Error())
	}
	p.mu.Unlock()
	if err != nil { // waiting contenders get the lock when the session ends
		_ = p.close(context.WithoutCancel(ctx), t.by, t.within)
	}
}

// over notes that the holder no longer believes that it holds the lock, before it sends the release.
func (p *Pool) over(t *Turn) (sent int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent = p.clock.Now()
	delete(t.is.holders, t)
	if sent > t.is.longest.sent {
		t.is.longest = span{t.Acquired, sent}
	}
	return sent
}
