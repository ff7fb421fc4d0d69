// Package pool keeps the sessions that requests in a load begin, renew and end. Sessions are all
// alike, so they have no numbers: a request takes the one granted or renewed longest ago.
package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Pool holds the sessions for one part of a load. It needs a little more than 16 bytes for each
// session. It is safe for concurrent use.
type Pool struct {
	ttl time.Duration

	mu      sync.Mutex // guards the fields below
	waiting queue      // sessions not used by a request
	counts  Counts
}

// Counts counts sessions in a part.
type Counts struct {
	// Before sessions were granted before the load, Begun ones to its requests. Doubtful counts
	// requests for a session whose answer was lost: that session cannot be named, and ends after
	// its TTL.
	Before, Begun, Doubtful int64
	// Requests in the load ended the Revoked sessions; the Ended ones were ended after the load.
	// The Expired ones had ended by themselves before their renewal or end, and the Left ones could
	// not be ended.
	Revoked, Ended, Expired, Left int64
}

// New returns a pool without sessions. All have one TTL.
func New(ttl time.Duration) *Pool { return &Pool{ttl: ttl} }

// errNone is the error for a request that finds no session.
var errNone = errors.New("no session is left for the request")

// Grant begins a session, which then waits for other requests.
func (p *Pool) Grant(ctx context.Context, on database.Leaser) error {
	id, err := on.Grant(ctx, p.ttl)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch outcome, _ := database.Classify(err); outcome {
	case workload.OK:
		p.waiting.add(id)
		p.counts.Begun++
	case workload.Unknown:
		p.counts.Doubtful++
	}
	return err
}

// KeepAlive renews the session with the oldest renewal.
func (p *Pool) KeepAlive(ctx context.Context, on database.Leaser) error {
	return p.with(func(id database.SessionID) error { return on.KeepAlive(ctx, id) }, nil)
}

// Revoke ends the session with the oldest renewal. Like deleting a missing key, revoking an ended
// session is not an error.
func (p *Pool) Revoke(ctx context.Context, on database.Leaser) error {
	err := p.with(func(id database.SessionID) error { return on.Revoke(ctx, id) }, func() { p.counts.Revoked++ })
	if errors.Is(err, database.ErrNoSession) {
		return nil
	}
	return err
}

// with calls do with a waiting session. The session waits again afterwards unless it has ended.
// ended counts a session that do ended; it is nil if do ends none.
func (p *Pool) with(do func(database.SessionID) error, ended func()) error {
	p.mu.Lock()
	id, ok := p.waiting.take()
	p.mu.Unlock()
	if !ok {
		return database.NotApplied(database.ClassNotFound, errNone)
	}
	err := errors.New("the request panicked")
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case errors.Is(err, database.ErrNoSession):
			p.counts.Expired++
		case err == nil && ended != nil:
			ended()
		default:
			p.waiting.add(id)
		}
	}()
	err = do(id)
	return err
}

// Fill grants sessions before a load, one after the other over each connection, each within a
// time. It returns the first error.
func (p *Pool) Fill(ctx context.Context, n int64, conns []database.Leaser, within time.Duration) error {
	var next atomic.Int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	each(conns, func(on database.Leaser) {
		for next.Add(1) <= n && ctx.Err() == nil {
			own, end := context.WithTimeout(ctx, within)
			if err := p.Grant(own, on); err != nil {
				cancel(err)
			}
			end()
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Before, p.counts.Begun = p.counts.Before+p.counts.Begun, 0
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("grant %d sessions before the load: %d were granted: %w", n, p.counts.Before, err)
	}
	return nil
}

// each calls do with all connections concurrently, and waits for all calls.
func each(conns []database.Leaser, do func(database.Leaser)) {
	var all sync.WaitGroup
	for _, on := range conns {
		all.Go(func() { do(on) })
	}
	all.Wait()
}

// End ends the waiting sessions in the same way as Fill begins them, until ctx is over. It
// returns the counts for all sessions, and the first error.
func (p *Pool) End(ctx context.Context, conns []database.Leaser, within time.Duration) (Counts, error) {
	var first error // guarded by the lock
	each(conns, func(on database.Leaser) {
		for ctx.Err() == nil {
			p.mu.Lock()
			id, ok := p.waiting.take()
			p.mu.Unlock()
			if !ok {
				return
			}
			own, end := context.WithTimeout(ctx, within)
			err := on.Revoke(own, id)
			end()
			p.mu.Lock()
			switch {
			case err == nil:
				p.counts.Ended++
			case errors.Is(err, database.ErrNoSession):
				p.counts.Expired++
			default:
				p.counts.Left++
				first = cmp.Or(first, err)
			}
			p.mu.Unlock()
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.waiting.clear(); n > 0 {
		p.counts.Left += n
		first = cmp.Or(first, context.Cause(ctx), errors.New("no member accepts a connection"))
	}
	return p.counts, first
}

// Waiting returns the number of sessions that no request has.
func (p *Pool) Waiting() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.len()
}

// queue is sessions in their order.
type queue struct {
	ring  []database.SessionID // a power of two long
	first int                  // the place of the first one in the ring
	n     int
}

func (q *queue) len() int64 { return int64(q.n) }

func (q *queue) add(id database.SessionID) {
	if q.n == len(q.ring) {
		ring := make([]database.SessionID, max(2*len(q.ring), 64))
		copy(ring[copy(ring, q.ring[q.first:]):], q.ring[:q.first])
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = id
	q.n++
}

func (q *queue) take() (id database.SessionID, ok bool) {
	if q.n == 0 {
		return id, false
	}
	id = q.ring[q.first]
	q.first, q.n = (q.first+1)&(len(q.ring)-1), q.n-1
	return id, true
}

// clear empties the queue and returns the number that it had.
func (q *queue) clear() int64 {
	n := q.len()
	*q = queue{}
	return n
}
