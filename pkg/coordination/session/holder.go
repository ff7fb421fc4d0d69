// Package session holds sessions beside a load, lets their holders die, and judges when the
// database noticed.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep"
)

// Options are of a [Holder].
type Options struct {
	On    database.Sessions
	Facts database.SessionFacts
	Plan  deaths.Plan
	// ValueSize is that of the keys' values in bytes.
	ValueSize int
	// Name begins the names of all keys, which are of this run alone.
	Name string
	// Workers is how many requests for sessions run at the same time.
	Workers int
	// Stated is a time of this process in the clock of the run; nil is the same one.
	Stated func(time.Time) time.Time
	// Seen records what is observed, under the names of package deaths, at times of this process.
	// It is safe for concurrent use.
	Seen func(name string, at time.Time, number int64)
	// Died is called when holders begin to die, with how many are held.
	Died func(at time.Time, held int)
}

// Holder holds the sessions of a run. Its methods are called one after the other: Grant, Run,
// End, Outcome.
type Holder struct {
	Options
	all   []*held
	by    []*held    // by number, nil for those that were not granted
	queue chan *held // by the time of their next renewal
	keep  context.CancelFunc
	tasks sync.WaitGroup

	grants time.Duration // how long all took
	death  time.Time
	over   chan struct{} // closed when all abandoned sessions have ended
	gone   atomic.Int64  // abandoned sessions whose keys are all gone
	clock  clock.Clock
	stops  *stops.Stops
	heard  int64 // when the watch of the keys ran last

	mu      sync.Mutex              // of what follows
	why     error                   // the first failure of a grant
	keeps   *hdrhistogram.Histogram // times of renewals that were answered
	longest time.Duration           // of them
	lost    int64
	late    int64
	left    int
	whyLeft error
}

// held is one session.
type held struct {
	busy sync.Mutex // during a request
	is   database.Session
	next time.Time // of its next renewal

	mu   sync.Mutex // of what follows
	sent time.Time  // of the last renewal that was answered
	// answered is when that was, or when the last one without an answer was given up.
	answered   time.Time
	unanswered bool
	abandoned  bool
	released   bool
	keys       map[int]bool // that are gone
	end        database.Change
	// stopped is for how long this process was stopped before the end was read, from stop on.
	stop    time.Time
	stopped time.Duration
}

// New returns a holder of no session yet.
func New(o Options) *Holder {
	h := &Holder{Options: o, keeps: histogram.New(), queue: make(chan *held, o.Plan.Held), over: make(chan struct{}), clock: clock.New()}
	h.stops = stops.New(h.clock)
	h.Workers = max(min(h.Workers, o.Plan.Held), 1)
	if h.Stated == nil {
		h.Stated = func(t time.Time) time.Time { return t }
	}
	return h
}

// Grant begins the sessions with their keys, and renews them from then on until End. The error
// is of the first that failed if none was granted.
func (h *Holder) Grant(ctx context.Context) error {
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.keep = cancel
	h.tasks.Go(func() { h.stops.Watch(keeping, func(int64) {}) })
	for range h.Workers {
		h.tasks.Go(func() { h.keepUp(keeping) })
	}
	start := time.Now()
	h.by = make([]*held, h.Plan.Held)
	h.parallel(h.Plan.Held, func(i int) {
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

// parallel calls do with the numbers below n, several at a time.
func (h *Holder) parallel(n int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(h.Workers)
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	_ = group.Wait() // no call has an error
}

// requestTimeout bounds a request for a session, but not a renewal.
const requestTimeout = 10 * time.Second

// grant begins one session, nil if that failed.
func (h *Holder) grant(ctx context.Context, i int) *held {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s := &held{keys: map[int]bool{}, sent: time.Now()}
	var err error
	if s.is, err = h.On.Grant(ctx, h.Plan.TTL); err == nil {
		s.answered = time.Now()
		h.Seen(deaths.ValueGrant, s.answered, int64(s.answered.Sub(s.sent)))
		value := make([]byte, h.ValueSize)
		for k := range h.Plan.Keys {
			if err = s.is.Attach(ctx, []byte(h.key(i, k)), value); err != nil {
				break
			}
		}
		if err == nil { // so that it is known when the TTL began: attaching renews some sessions
			err = h.renew(ctx, s)
		}
	}
	if err != nil {
		if s.is != nil {
			release(ctx, s.is)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.why = cmp.Or(h.why, err)
		return nil
	}
	s.next = s.sent.Add(h.Plan.Keep)
	h.queue <- s
	return s
}

// release ends a session that lacks keys, also after ctx is over. One that cannot be ended
// expires.
func release(ctx context.Context, s database.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	_ = s.Release(ctx)
}

// key is the name of a key. numbers are the ones in it.
func (h *Holder) key(session, key int) string { return fmt.Sprintf("%s-%d-%d", h.Name, session, key) }

func (h *Holder) numbers(name string) (session, key int, ok bool) {
	rest, ours := strings.CutPrefix(name, h.Name+"-")
	a, b, two := strings.Cut(rest, "-")
	session, err := strconv.Atoi(a)
	key, err2 := strconv.Atoi(b)
	return session, key, ours && two && err == nil && err2 == nil
}

// keepUp renews sessions in the order in which that is due, which is that of the queue: all
// have the same time between two renewals.
func (h *Holder) keepUp(ctx context.Context) {
	for {
		var s *held
		select {
		case s = <-h.queue:
		case <-ctx.Done():
			return
		}
		if !sleep.For(ctx, time.Until(s.next)) {
			return
		}
		s.busy.Lock()
		if !s.over() {
			if late := time.Since(s.next); late > h.Plan.TTL/10 {
				h.mu.Lock()
				h.late++
				h.mu.Unlock()
			}
			at := time.Now()
			err := h.renew(ctx, s)
			if s.next = at.Add(h.Plan.Keep); !errors.Is(err, database.ErrNoSession) {
				h.queue <- s // has room for all
			}
		}
		s.busy.Unlock()
	}
}

// over reports whether nobody renews a session any more.
func (s *held) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abandoned || s.released || !s.end.At.IsZero()
}

// renew renews a session and notes when.
func (h *Holder) renew(ctx context.Context, s *held) error {
	within, cancel := context.WithTimeout(ctx, max(h.Plan.Keep, time.Second))
	defer cancel()
	sent := time.Now()
	err := s.is.Keep(within)
	answered := time.Now()
	if err != nil && ctx.Err() != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unanswered = err != nil; err == nil {
		s.sent, s.answered = sent, answered
		h.Seen(deaths.ValueKeep, answered, int64(answered.Sub(sent)))
		h.mu.Lock()
		histogram.Record(h.keeps, answered.Sub(sent))
		h.longest = max(h.longest, answered.Sub(sent))
		h.mu.Unlock()
		return nil
	}
	if !errors.Is(err, database.ErrNoSession) {
		s.answered = answered // members may have renewed it until now
	}
	h.Seen(deaths.ValueKeepLost, answered, 1)
	h.mu.Lock()
	h.lost++
	h.mu.Unlock()
	return err
}

// Run lets the holders die when that is due, and returns when the database has noticed all of
// it, or ctx is over.
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
	for i, s := range h.all {
		if rate > 0 && !sleep.For(ctx, time.Until(h.death.Add(time.Duration(float64(i)/rate*float64(time.Second))))) {
			return
		}
		s.mu.Lock()
		if s.end.At.IsZero() { // else it ended while it was held
			s.abandoned = true
		} else {
			h.count()
		}
		s.mu.Unlock()
	}
	for _, s := range h.all {
		if s.busy.Lock(); s.abandonedNow() {
			s.is.Abandon()
		}
		s.busy.Unlock()
	}
}

func (s *held) abandonedNow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abandoned
}

// count counts a session that is over.
func (h *Holder) count() {
	if h.gone.Add(1) == int64(len(h.all)) {
		close(h.over)
	}
}

// ended notes the end of a key.
func (h *Holder) ended(g database.Change) {
	if g.New {
		return
	}
	now := h.clock.Now()
	h.stops.Seen(h.heard, now)
	h.heard = now
	i, key, ok := h.numbers(string(g.Key))
	if !ok || i >= len(h.by) || h.by[i] == nil || key >= h.Plan.Keys {
		return
	}
	s := h.by[i]
	s.mu.Lock()
	defer s.mu.Unlock()
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

// endTimeout bounds the end of all sessions.
const endTimeout = time.Minute

// End ends the sessions that are left, also after ctx is over.
func (h *Holder) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if h.keep != nil {
		h.keep()
	}
	h.tasks.Wait()
	h.parallel(len(h.all), func(i int) {
		s := h.all[i]
		s.mu.Lock()
		gone := !s.end.At.IsZero()
		s.released = true
		s.mu.Unlock()
		if gone && s.abandonedNow() {
			s.is.Abandon() // unless that was done: ctx may have ended while holders died
			return
		}
		if err := s.is.Release(ctx); err != nil && !gone {
			h.mu.Lock()
			h.left, h.whyLeft = h.left+1, cmp.Or(h.whyLeft, err)
			h.mu.Unlock()
		}
	})
}
