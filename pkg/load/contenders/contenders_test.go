package contenders

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/contenders/across"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// store lets everybody hold every lock.
type store struct {
	open     atomic.Int64 // contenders: they are opened and closed side by side
	fence    int64
	refuses  error // for the next requests for a lock
	releases error
	panics   bool
	lost     chan struct{}
	acquired func() // is called before the answer
}

func (s *store) Contender(context.Context) (database.Contender, error) {
	s.open.Add(1)
	return &one{s}, nil
}

func (s *store) Close() error { return nil }

type one struct{ *store }

func (o *one) Acquire(context.Context, []byte, func()) (database.Held, error) {
	if o.panics {
		panic("the library has a bug")
	}
	if o.acquired != nil {
		o.acquired()
	}
	o.fence++
	return database.Held{At: time.Now(), Fence: o.fence, Lost: o.lost}, o.refuses
}

func (o *one) Release(context.Context) error { return o.releases }
func (o *one) Abandon()                      {}
func (o *one) Close(context.Context) error   { o.open.Add(-1); return nil }

const within = 2 * time.Minute

// newPool returns a pool with open contenders. *long are the process stops.
func newPool(t *testing.T, s *store, n int, long *stops.List) *Pool {
	t.Helper()
	c := clock.New()
	facts := database.LockFacts{
		Recipes: []database.LockRecipe{{Name: "direct", Fence: "a number"}},
		Session: database.SessionFacts{Least: time.Second, Step: time.Second, Ends: func(ttl time.Duration, _ int) (time.Duration, time.Duration) { return ttl, ttl }},
		Renews:  func(ttl time.Duration) time.Duration { return ttl / 3 },
	}
	p := New(workload.Locks{Recipe: "direct", Hold: time.Second, TTL: 9 * time.Second}, facts)
	p.Begin(&c, func(int64) stops.List { return *long })
	p.Over([]database.Locks{s})
	if err := p.Open(t.Context(), n, within); err != nil || s.open.Load() != int64(n) {
		t.Fatalf("%d contenders are open (%v), want %d", s.open.Load(), err, n)
	}
	return p
}

// acquire takes a lock.
func acquire(t *testing.T, p *Pool, number int64) *Turn {
	t.Helper()
	turn, err := p.Acquire(t.Context(), number, []byte("a"), within)
	if err != nil {
		t.Fatalf("acquire lock %d: %v", number, err)
	}
	return turn
}

// counts fails unless the pool has these counts, apart from facts about the recipe.
func counts(t *testing.T, p *Pool, want results.LoadLocks) {
	t.Helper()
	got := p.Counts()
	want.Recipe, want.By, want.Fence, want.TTL = "direct", "dbtester", "a number", 9*time.Second
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Two holders of one lock are found, whichever gives it up first. Holders of two locks, or one after
// the other, are not.
func TestOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, long := &store{}, stops.List(nil)
		p := newPool(t, s, 3, &long)
		a, b := acquire(t, p, 1), acquire(t, p, 2)
		time.Sleep(time.Millisecond)
		a.Release(t.Context())
		b.Release(t.Context())
		time.Sleep(time.Millisecond)
		a = acquire(t, p, 1)
		counts(t, p, results.LoadLocks{Opened: 3, Acquired: 3, Released: 2})
		b = acquire(t, p, 1)
		counts(t, p, results.LoadLocks{Opened: 3, Acquired: 4, Released: 2, Overlaps: 1})
		time.Sleep(time.Millisecond)
		b.Release(t.Context())
		b = acquire(t, p, 1) // while the first is still held
		a.Release(t.Context())
		b.Release(t.Context())
		counts(t, p, results.LoadLocks{Opened: 3, Acquired: 5, Released: 5, Overlaps: 2})
		// A holder that learns late that it holds the lock has held it since.
		time.Sleep(time.Millisecond)
		a = acquire(t, p, 1)
		time.Sleep(time.Millisecond)
		a.Release(t.Context())
		p.note(1, &holding{acquired: a.Acquired(), fence: 99}, 0)
		if got := p.Counts(); got.Overlaps != 3 {
			t.Errorf("%d overlaps, want that of a holder since before another gave the lock up, 3", got.Overlaps)
		}
		if err := p.Close(t.Context(), within); err != nil || s.open.Load() != 0 {
			t.Errorf("%d contenders are left: %v", s.open.Load(), err)
		}
	})
}

// An overlap that a process stop may explain does not count against the store.
func TestBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, long := &store{}, stops.List{{From: 0, To: int64(9500 * time.Millisecond)}}
		p := newPool(t, s, 2, &long)
		a := acquire(t, p, 1)
		s.fence = 0
		b := acquire(t, p, 1)
		a.Release(t.Context())
		b.Release(t.Context())
		counts(t, p, results.LoadLocks{Opened: 2, Acquired: 2, Released: 2, Believed: 1})
		a = acquire(t, p, 2)
		time.Sleep(10 * time.Second)
		a.Release(t.Context())
		counts(t, p, results.LoadLocks{Opened: 2, Acquired: 3, Released: 3, Believed: 2})
	})
}

// Answers arriving during a stop are read after it, so a stop may also explain overlaps after it.
// A holder deceived by a stop counts once.
func TestBelievedAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, long := &store{}, stops.List{{From: 0, To: int64(20 * time.Second)}}
		p := newPool(t, s, 2, &long)
		time.Sleep(20*time.Second + time.Millisecond)
		a, b := acquire(t, p, 1), acquire(t, p, 1)
		a.Release(t.Context())
		b.Release(t.Context())
		counts(t, p, results.LoadLocks{Opened: 2, Acquired: 2, Released: 2, Believed: 1})
		now := p.clock.Now()
		a = acquire(t, p, 2)
		time.Sleep(10 * time.Second)
		long = append(long, stops.Stop{From: now, To: now + int64(10*time.Second)})
		b = acquire(t, p, 2)
		a.Release(t.Context())
		b.Release(t.Context())
		counts(t, p, results.LoadLocks{Opened: 2, Acquired: 4, Released: 4, Believed: 2})
		time.Sleep(time.Minute)
		a, b = acquire(t, p, 3), acquire(t, p, 3)
		a.Release(t.Context())
		b.Release(t.Context())
		counts(t, p, results.LoadLocks{Opened: 2, Acquired: 6, Released: 6, Believed: 2, Overlaps: 1})
	})
}

// The goroutine that reads the answer may be the first to run after a stop.
func TestStopEndsWithAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, long := &store{}, stops.List(nil)
		p := newPool(t, s, 2, &long)
		var missed atomic.Int64
		c := clock.Missing(&missed)
		found := stops.New(c)
		found.Watchdog()
		p.Begin(&c, func(since int64) stops.List {
			found.Seen(since, c.Now())
			return found.Long()
		})
		a := acquire(t, p, 1)
		s.acquired = func() { missed.Add(int64(20 * time.Second)) }
		b := acquire(t, p, 1)
		a.Release(t.Context())
		b.Release(t.Context())
		counts(t, p, results.LoadLocks{Opened: 2, Acquired: 2, Released: 2, Believed: 1})
	})
}

// A fence must be greater than the previous one.
func TestFences(t *testing.T) {
	s, long := &store{}, stops.List(nil)
	p := newPool(t, s, 1, &long)
	for _, fence := range []int64{4, 4, 9, 3} { // each is one more
		s.fence = fence
		acquire(t, p, 1).Release(t.Context())
	}
	counts(t, p, results.LoadLocks{Opened: 1, Acquired: 4, Released: 4, Disorder: 2})
}

// Fences are compared in the order in which locks were acquired. A holder may learn its own late.
func TestFencesInOrder(t *testing.T) {
	s, long := &store{}, stops.List(nil)
	p := newPool(t, s, 1, &long)
	for _, h := range []*holding{{acquired: 10, fence: 5}, {acquired: 30, fence: 7}, {acquired: 20, fence: 6}, {acquired: 25, fence: 9}} {
		n := p.note(1, h, 0)
		n.holders = nil
	}
	if got := p.Counts(); got.Disorder != 1 {
		t.Errorf("%d fences are out of order, want that of the last holder alone", got.Disorder)
	}
}

// A contender whose session has ended is closed, and the next request opens another. Each acquired
// lock is accounted for.
func TestReplaced(t *testing.T) {
	s, long := &store{}, stops.List(nil)
	p := newPool(t, s, 1, &long)
	s.refuses = errors.New("busy")
	if _, err := p.Acquire(t.Context(), 1, nil, within); err == nil || s.open.Load() != 1 {
		t.Errorf("%d contenders after a request that failed (%v), want 1", s.open.Load(), err)
	}
	s.refuses = database.ErrNoSession
	if _, err := p.Acquire(t.Context(), 1, nil, within); err == nil || s.open.Load() != 0 {
		t.Errorf("%d contenders after the end of a session (%v), want none", s.open.Load(), err)
	}
	s.refuses = nil
	for _, s.releases = range []error{database.ErrLockLost, errors.New("no answer"), nil} {
		acquire(t, p, 1).Release(t.Context())
	}
	s.panics = true
	func() {
		defer func() { _ = recover() }()
		_, _ = p.Acquire(t.Context(), 1, nil, within)
	}()
	if s.open.Load() != 0 {
		t.Errorf("%d contenders are left after a panic, want none", s.open.Load())
	}
	counts(t, p, results.LoadLocks{Opened: 1, Replaced: 3, Acquired: 3, Released: 1, Lost: 1, Unclear: 1, Why: "no answer"})
}

// A holder keeps its lock for the holding time of the load, and gives it up when it learns that the
// lock is lost.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, long := &store{lost: make(chan struct{})}, stops.List(nil)
		p := newPool(t, s, 1, &long)
		turn, begin := acquire(t, p, 1), time.Now()
		if turn.Keep(); time.Since(begin) != time.Second {
			t.Errorf("the lock was kept for %v, want 1s", time.Since(begin))
		}
		turn.Release(t.Context())
		turn, begin = acquire(t, p, 1), time.Now()
		close(s.lost)
		if turn.Keep(); time.Since(begin) != 0 {
			t.Errorf("a lost lock was kept for %v", time.Since(begin))
		}
		turn.Release(t.Context())
	})
}

// Given-up locks are remembered for a comparison with other parts, each once and as long as there
// is room. A stop that may have ended a session makes its locks doubtful.
func TestRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, long := &store{}, stops.List(nil)
		p := newPool(t, s, 2, &long)
		turn := func(number int64) across.Holding {
			got := acquire(t, p, number)
			time.Sleep(time.Millisecond)
			got.Release(t.Context())
			return across.Holding{Name: number, Acquired: got.Acquired(), Sent: got.Acquired() + int64(time.Millisecond), Fence: s.fence}
		}
		turn(1) // from a pool not asked to remember
		p.Remember(3)
		want := []across.Holding{turn(7), turn(8)}
		if diff := cmp.Diff(want, p.Take()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		last := turn(9)
		turn(10)
		last.Doubtful, long = true, stops.List{{From: last.Acquired, To: last.Acquired + int64(10*time.Second)}}
		if diff := cmp.Diff([]across.Holding{last}, p.Take()); diff != "" {
			t.Errorf("after a stop (-want +got):\n%s", diff)
		}
		if err := p.Close(t.Context(), within); err != nil {
			t.Error(err)
		}
	})
}
