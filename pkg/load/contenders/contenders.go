// Package contenders takes locks for the requests of a load and judges the holdings: whether two
// contenders ever held one lock, and whether fences rise.
package contenders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/contenders/across"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Clock is the load time, in nanoseconds.
type Clock interface {
	Now() int64
	// Since converts a time read from this process's clock to a moment.
	Since(t time.Time) int64
}

// Stops returns the long stops of this process, also one ending now: since is when the calling
// goroutine last ran.
type Stops func(since int64) stops.List

// Pool holds the contenders for one part of a load. It is safe for concurrent use, except
// [Pool.Begin], [Pool.Remember], [Pool.Over], [Pool.Open], [Pool.Close] and [Pool.Take], which
// are called between steps.
type Pool struct {
	plan    workload.Locks
	expires int64 // ns after its last renewal a session is over
	risky   int64 // a stop this long may end one
	clock   Clock
	stops   Stops

	on []database.Locks // one for each member with contenders

	mu     sync.Mutex // guards the fields below
	opened int
	free   []database.Contender
	names  map[int64]*name
	counts results.LoadLocks
	room   int              // for remembered holdings
	held   []across.Holding // not yet returned by [Pool.Take]
}

// name is what is known about a lock that was held.
type name struct {
	holders []*holding
	longest *holding // the ended one with the latest end, or nil
	last    *holding // the one acquired last
}

// holding is the time in which a holder believed that it held a lock.
type holding struct {
	number         int64 // for the lock
	acquired, sent int64 // sent is 0 before the end
	fence          int64
	deceived       bool // the session ended before, because this process was stopped
}

// New returns a pool without contenders. [Pool.Begin] must be called before a lock is acquired.
func New(plan workload.Locks, facts database.LockFacts) *Pool {
	ttl := facts.Session.Granted(plan.TTL)
	risky, expires := facts.Lasts(ttl)
	p := &Pool{plan: plan, expires: int64(expires), risky: int64(risky), names: map[int64]*name{}}
	p.counts = results.LoadLocks{Recipe: plan.Recipe, TTL: ttl}
	if r, err := facts.Recipe(plan.Recipe); err == nil {
		p.counts.By, p.counts.Fence = r.By(), r.Fence
	}
	return p
}

// Begin declares the load clock, and the record of long process stops.
func (p *Pool) Begin(clock Clock, long Stops) { p.clock, p.stops = clock, long }

// Over declares the member locks, which make contenders in turn.
func (p *Pool) Over(on []database.Locks) { p.on = on }

// Remember makes the pool remember up to most locks that were held, for [Pool.Take].
func (p *Pool) Remember(most int) { p.room = most }

// Take returns the remembered locks given up since its previous call. Their times are moments on
// the load clock.
func (p *Pool) Take() []across.Holding {
	now := p.clock.Now()
	long := p.stops(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	held := p.held
	p.held = nil
	for i := range held {
		held[i].Doubtful = long.MayEnd(held[i].Acquired, held[i].Sent, p.risky)
	}
	return held
}

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

// open begins a contender session.
func (p *Pool) open(ctx context.Context, within time.Duration) (database.Contender, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return p.next().Contender(ctx)
}

// next returns the locks for the next contender.
func (p *Pool) next() database.Locks {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	return p.on[(p.opened-1)%len(p.on)]
}

// Close closes the free contenders; between steps all are free. It returns the first error.
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

// close ends a contender session. An already ended session is not an error.
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

// Counts returns the counts for all locks so far.
func (p *Pool) Counts() results.LoadLocks {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Turn is a lock acquired by a request. It has one caller at a time, which calls Keep and then
// Release.
type Turn struct {
	pool   *Pool
	by     database.Contender
	of     *name
	is     *holding
	lost   <-chan struct{}
	within time.Duration
}

// Acquired returns when the holder knew that it held the lock.
func (t *Turn) Acquired() int64 { return t.is.acquired }

// Acquire takes the lock with a number, whose name is key. The next request replaces a contender
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
	asked := p.clock.Now()
	held, err := c.Acquire(ctx, key, nil)
	if err != nil {
		if over = errors.Is(err, database.ErrNoSession); !over {
			p.give(c)
		}
		return nil, err
	}
	over = false
	is := &holding{number: number, acquired: p.clock.Since(held.At), fence: held.Fence}
	return &Turn{pool: p, by: c, of: p.note(number, is, asked), is: is, lost: held.Lost, within: within}, nil
}

// take returns a free contender, or opens one.
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

// note judges an acquired lock, which its holder asked for at asked.
func (p *Pool) note(number int64, is *holding, asked int64) *name {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Acquired++
	n := p.names[number]
	if n == nil {
		n = &name{}
		p.names[number] = n
	}
	var other *holding // still held when this one began
	switch {
	case len(n.holders) > 0:
		other = n.holders[0]
	case n.longest != nil && is.acquired < n.longest.sent:
		other = n.longest
	}
	switch {
	case other == nil:
	case p.stopped(other, is, asked):
		p.deceive(other)
	default:
		p.counts.Overlaps++
	}
	earlier, later := n.last, is
	if earlier != nil && later.acquired < earlier.acquired {
		earlier, later = later, earlier // it learned late that it holds the lock
	}
	if earlier != nil && later.fence <= earlier.fence && !p.stopped(earlier, later, asked) {
		p.counts.Disorder++
	}
	n.last = later
	n.holders = append(n.holders, is)
	return n
}

// stopped reports whether stops of this process until now may be why two seem to overlap. The
// caller last ran at since.
func (p *Pool) stopped(a, b *holding, since int64) bool {
	return p.stops(since).MayEnd(min(a.acquired, b.acquired), p.clock.Now(), p.risky)
}

// deceive counts a holder that believed it held a lock, once. The lock is held.
func (p *Pool) deceive(h *holding) {
	if !h.deceived {
		h.deceived = true
		p.counts.Believed++
	}
}

// Keep holds the lock for the holding time of the load, or until the holder learns that it has lost
// it.
func (t *Turn) Keep() {
	hold := t.pool.plan.Hold
	if hold <= 0 {
		return
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.lost:
	}
}

// Release gives the lock up. The outcome is counted, and is not a request error.
func (t *Turn) Release(ctx context.Context) {
	p := t.pool
	p.over(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.within)
	defer cancel()
	err := t.by.Release(ctx)
	p.mu.Lock()
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
func (p *Pool) over(t *Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, h := t.of, t.is
	h.sent = p.clock.Now()
	n.holders = slices.DeleteFunc(n.holders, func(other *holding) bool { return other == h })
	if n.longest == nil || h.sent > n.longest.sent {
		n.longest = h
	}
	if p.room > 0 {
		p.room--
		p.held = append(p.held, across.Holding{Name: h.number, Acquired: h.acquired, Sent: h.sent, Fence: h.fence})
	}
	if h.sent-h.acquired > p.expires && p.stops(h.acquired).Believed(h.acquired, h.sent, p.expires) > 0 {
		p.deceive(h)
	}
}
