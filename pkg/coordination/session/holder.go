// Package session holds sessions during a load, lets their holders die, and judges when the
// database noticed.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/sleep"
)

// Options configure a [Holder].
type Options struct {
	On    database.Sessions
	Facts database.SessionFacts
	Plan  deaths.Plan
	// ValueSize is the size of the values, in bytes.
	ValueSize int
	// Keys are all key names, which no other run has.
	Keys keeper.Keys
	// Workers is the number of concurrent requests for sessions.
	Workers int
	// Stated converts a time in this process to the run clock; nil means that both are the same.
	Stated func(time.Time) time.Time
	// Seen records observations under the names in package deaths, at times in this process. It is
	// safe for concurrent use.
	Seen func(name string, at time.Time, number int64)
	// Died is called when holders begin to die, with the number that are held.
	Died func(at time.Time, held int)
}

// Holder holds the sessions of a run. Its methods are called one after the other: Grant, Run, End,
// Outcome.
type Holder struct {
	Options
	all    []*held
	by     []*held // by number, nil if not granted
	keeper *keeper.Keeper
	keep   context.CancelFunc
	tasks  sync.WaitGroup

	grants time.Duration // the time that all took
	death  time.Time
	over   chan struct{} // closed when all abandoned sessions have ended
	gone   atomic.Int64  // abandoned sessions whose keys are all gone
	clock  clock.Clock
	stops  *stops.Stops
	heard  int64 // when the watch on the keys ran last

	mu      sync.Mutex // guards the following fields
	why     error      // why the first grant failed
	left    int
	whyLeft error
}

// held tracks a session until its end. The fields below the session are under its Mu.
type held struct {
	keeper.Session
	abandoned bool
	released  bool
	keys      map[int]bool // that are gone
	end       database.Change
	// stopped is the time for which this process was stopped before the end was read, from stop on.
	stop    time.Time
	stopped time.Duration
}

// New returns a holder that holds no session yet.
func New(o Options) *Holder {
	h := &Holder{Options: o, over: make(chan struct{}), clock: clock.New()}
	h.stops = stops.New(h.clock)
	h.keeper = keeper.New(keeper.Options{
		Most: o.Plan.Held, TTL: o.Plan.TTL, Every: o.Plan.Keep, Workers: max(min(o.Workers, o.Plan.Held), 1),
		Renewed: func(at time.Time, took time.Duration) { h.Seen(deaths.ValueKeep, at, int64(took)) },
		Lost:    func(at time.Time) { h.Seen(deaths.ValueKeepLost, at, 1) },
	})
	if h.Stated == nil {
		h.Stated = func(t time.Time) time.Time { return t }
	}
	return h
}

// Grant begins the sessions with their keys, and renews them from then on until End. It returns
// the first error if no session was granted.
func (h *Holder) Grant(ctx context.Context) error {
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.keep = cancel
	h.tasks.Go(func() { h.stops.Watch(keeping, func(int64) {}) })
	h.keeper.Start(keeping, &h.tasks)
	start := time.Now()
	h.by = make([]*held, h.Plan.Held)
	h.keeper.Each(h.Plan.Held, func(i int) {
		if ctx.Err() == nil {
			h.by[i] = h.grant(ctx, i)
		}
	})
	h.grants = time.Since(start)
	for _, s := range h.by {
		if s != nil {
			h.all = append(h.all, s)
		}
	}
	if len(h.all) == 0 {
		return fmt.Errorf("grant %d sessions: %w", h.Plan.Held, cmp.Or(h.why, context.Cause(ctx), errors.New("none was granted")))
	}
	return nil
}

// grant begins one session. It returns nil if that failed.
func (h *Holder) grant(ctx context.Context, i int) *held {
	ctx, cancel := context.WithTimeout(ctx, keeper.RequestTimeout)
	defer cancel()
	s := &held{keys: map[int]bool{}}
	err := s.Grant(ctx, h.On, h.Plan.TTL)
	if err == nil {
		h.Seen(deaths.ValueGrant, s.Answered, int64(s.Answered.Sub(s.Sent)))
		value := make([]byte, h.ValueSize)
		for k := range h.Plan.Keys {
			if err = s.Is.Attach(ctx, []byte(h.Keys.Of(i, k)), value); err != nil {
				break
			}
		}
		if err == nil { // so that it is known when the TTL began: attaching renews some sessions
			err = h.keeper.Renew(ctx, &s.Session)
		}
	}
	if err != nil {
		if s.Is != nil {
			s.Discard(ctx)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.why = cmp.Or(h.why, err)
		return nil
	}
	h.keeper.Keep(&s.Session, s.ended)
	return s
}

// ended reports whether a session is no longer renewed.
func (s *held) ended() bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.abandoned || s.released || !s.end.At.IsZero()
}

// Run lets the holders die when that is due, and returns when the database has noticed all deaths,
// or ctx is over.
func (h *Holder) Run(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	h.tasks.Go(func() { ended <- h.On.Watch(watching, func() { close(ready) }, h.ended) })
	defer cancel()
	failed := func(err error) error {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("watch the ends of keys: %w", cmp.Or(err, errors.New("it ended")))
	}
	select {
	case <-ready:
	case err := <-ended:
		return failed(err)
	case <-ctx.Done():
		return nil
	}
	if h.Plan.Release != deaths.Never {
		if !sleep.For(ctx, h.Plan.After) {
			return nil
		}
		h.abandon(ctx)
	}
	select {
	case <-h.over:
		return nil
	case err := <-ended:
		return failed(err)
	case <-ctx.Done():
		return nil
	}
}

// abandon lets the holders die.
func (h *Holder) abandon(ctx context.Context) {
	h.death = time.Now()
	h.Died(h.death, len(h.all))
	rate := h.Plan.Release.PerSecond()
	for i, n := range h.order() {
		s := h.all[n]
		if rate > 0 && !sleep.For(ctx, time.Until(h.death.Add(time.Duration(float64(i)/rate*float64(time.Second))))) {
			return
		}
		s.Mu.Lock()
		if s.end.At.IsZero() { // else it ended while it was held
			s.abandoned = true
		} else {
			h.count()
		}
		s.Mu.Unlock()
	}
	for _, s := range h.all {
		if s.Busy.Lock(); s.abandonedNow() {
			s.Is.Abandon()
		}
		s.Busy.Unlock()
	}
}

// order returns the order in which holders die: random, but the same in each run. They are
// renewed in the order in which they were granted. If they died in that order, too, their TTLs
// would end in bursts.
func (h *Holder) order() []int { return rand.New(rand.NewPCG(1, uint64(len(h.all)))).Perm(len(h.all)) }

func (s *held) abandonedNow() bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.abandoned
}

// count counts a session that is over.
func (h *Holder) count() {
	if h.gone.Add(1) == int64(len(h.all)) {
		close(h.over)
	}
}

// ended notes that a key has ended.
func (h *Holder) ended(g database.Change) {
	if g.New {
		return
	}
	now := h.clock.Now()
	h.stops.Seen(h.heard, now)
	h.heard = now
	i, key, ok := h.Keys.Numbers(string(g.Key))
	if !ok || i >= len(h.by) || h.by[i] == nil || key >= h.Plan.Keys {
		return
	}
	s := h.by[i]
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.released || s.keys[key] {
		return
	}
	if s.keys[key] = true; len(s.keys) < h.Plan.Keys {
		return
	}
	s.end = g
	if from, length := h.stops.Before(now); length > 0 {
		s.stop, s.stopped = h.clock.Instant(from), length
	}
	if s.end.Key = nil; s.abandoned {
		h.count()
	}
}

// endTimeout bounds ending all sessions.
const endTimeout = time.Minute

// End ends the sessions that are left, also after ctx is over.
func (h *Holder) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if h.keep != nil {
		h.keep()
	}
	h.tasks.Wait()
	h.keeper.Each(len(h.all), func(i int) {
		s := h.all[i]
		s.Mu.Lock()
		gone := !s.end.At.IsZero()
		s.released = true
		s.Mu.Unlock()
		if gone && s.abandonedNow() {
			s.Is.Abandon() // unless that was done: ctx may have ended while holders died
			return
		}
		if err := s.Is.Release(ctx); err != nil && !gone {
			h.mu.Lock()
			h.left, h.whyLeft = h.left+1, cmp.Or(h.whyLeft, err)
			h.mu.Unlock()
		}
	})
}
