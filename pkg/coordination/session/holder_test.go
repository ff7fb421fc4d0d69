package session

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
)

// store grants sessions from a table, in no time.
type store struct {
	table *expiry.Table
	mu    sync.Mutex
	// deaf means that renewals have no answer.
	deaf bool
	// every is the time from one key list to the next.
	every time.Duration
	// open are the sessions that were neither abandoned nor released.
	open map[int64]bool
}

type one struct {
	on  *store
	id  int64
	ttl time.Duration
}

// closed notes that a session no longer needs a connection.
func (o *one) closed() {
	o.on.mu.Lock()
	defer o.on.mu.Unlock()
	delete(o.on.open, o.id)
}

func (s *store) Grant(_ context.Context, ttl time.Duration) (database.Session, error) {
	o := &one{s, s.table.Grant(ttl, time.Now()), ttl}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[o.id] = true
	return o, nil
}

func (s *store) Watch(ctx context.Context, ready func(), changed func(database.Change)) error {
	return database.WatchList(ctx, s.every, func(context.Context) ([]string, error) {
		return s.table.Names("", time.Now()), nil
	}, ready, changed)
}

func (s *store) Close() error     { return nil }
func (o *one) TTL() time.Duration { return o.ttl }
func (o *one) Abandon()           { o.closed() }
func (o *one) Release(context.Context) error {
	o.closed()
	o.on.table.Release(o.id)
	return nil
}

func (o *one) Attach(_ context.Context, key, _ []byte) error {
	o.on.table.Attach(o.id, string(key), time.Now())
	return nil
}

func (o *one) Keep(context.Context) error {
	o.on.mu.Lock()
	defer o.on.mu.Unlock()
	switch {
	case o.on.deaf:
		return errors.New("no answer")
	case !o.on.table.Keep(o.id, time.Now()):
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	return nil
}

// run holds sessions under a law, with a time between lists of their keys, until all is over or the
// load has lasted a minute.
func run(t *testing.T, law expiry.Law, early int, plan deaths.Plan, every time.Duration, meanwhile func(*store, *Holder)) (o deaths.Outcome, left int) {
	t.Helper()
	s := &store{table: expiry.NewTable(law, early, time.Now().Add(-time.Hour)), every: every, open: map[int64]bool{}}
	h := New(Options{
		On: s, Facts: database.SessionFacts{What: "session", Rule: law.Rule(), Ends: law.Ends}, Plan: plan, Keys: "r", Workers: 16,
		Seen: func(string, time.Time, int64) {}, Died: func(time.Time, int) {},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.Grant(ctx); err != nil {
		t.Fatalf("grant: %v", err)
	}
	if meanwhile != nil {
		go meanwhile(s, h)
	}
	if err := h.Run(ctx); err != nil {
		t.Fatalf("hold: %v", err)
	}
	h.End(ctx)
	if len(s.open) > 0 {
		t.Errorf("%d sessions were neither abandoned nor released", len(s.open))
	}
	return h.Outcome(), len(s.table.Names("", time.Now()))
}

func plan(held int) deaths.Plan {
	return deaths.Plan{Held: held, TTL: 8 * time.Second, Keep: 3 * time.Second, Release: deaths.AllAtOnce, After: 10 * time.Second, Keys: 1}
}

// The fake's laws are found again, within a hundredth: the times by which the first, the median and
// the last session end late, and the rate. Lists are 5 ms apart.
func TestLaws(t *testing.T) {
	const every = 5 * time.Millisecond
	for law, want := range map[expiry.Law]struct {
		held                        int
		first, p50, last, perSecond float64
	}{
		expiry.Exact: {100, 0, 0, 0, 0}, expiry.Doubled: {100, 8, 8, 8, 0}, expiry.Limited: {1000, 0, .5, 1, 1000},
		expiry.Ticked: {100, 1, 1, 1, 0}, // the last renewal is at an odd second
	} {
		held := want.held
		t.Run(string(law), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := plan(held)
				p.After = 4 * time.Second
				o, left := run(t, law, 0, p, every, nil)
				if o.Granted != held || o.Abandoned != held || o.Expired != held || o.NotExpired != 0 || o.Early+o.Missed+o.Unrenewed > 0 || left > 0 {
					t.Fatalf("%d sessions were granted, %d abandoned, %d expired, %d early, %d missed, %d not renewed; %d are left", o.Granted, o.Abandoned, o.Expired, o.Early, o.Missed, o.Unrenewed, left)
				}
				first := o.Survivors[0].After
				for name, is := range map[string]struct{ got, want float64 }{
					"first": {first.Seconds(), want.first}, "median": {float64(o.Late.P50) / 1e9, want.p50}, "last": {float64(o.Late.Max) / 1e9, want.last},
				} {
					if is.got < is.want || is.got > is.want+.006 {
						t.Errorf("the %s session ended %.3f s late, want %.0f s and at most the 5 ms between two lists", name, is.got, is.want)
					}
				}
				if least := float64(o.LateLeast.Max) / 1e9; least > want.last || least < want.last-.006 {
					t.Errorf("the last session ended at least %.3f s late, want at most %.0f s and the 5 ms between two lists less", least, want.last)
				}
				if math.Abs(o.PerSecond-want.perSecond) > want.perSecond/100 && want.perSecond > 0 {
					t.Errorf("%.1f sessions ended in a second, want %.0f", o.PerSecond, want.perSecond)
				}
				if n := len(o.Survivors); o.Survivors[n-1].Left != 0 || o.Survivors[n-1].After != time.Duration(o.Late.Max) {
					t.Errorf("the curve of survivors ends with %+v, want none at the last end", o.Survivors[n-1])
				}
				if o.Resolution > every || o.Keeps == nil || o.KeepsLost > 0 {
					t.Errorf("resolution %v, renewals %+v, lost %d", o.Resolution, o.Keeps, o.KeepsLost)
				}
			})
		})
	}
}

// One session in ten thousand that ends too early is found.
func TestEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(10_000)
		p.After = time.Second
		if o, _ := run(t, expiry.Exact, 10_000, p, 500*time.Millisecond, nil); o.Early != 1 || o.Expired != 10_000 {
			t.Errorf("%d of %d ended early, want 1 of 10000", o.Early, o.Expired)
		}
	})
}

// Holders die one after the other, or not at all.
func TestReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(100)
		p.Release, p.Keys = "20/s", 3
		o, left := run(t, expiry.Exact, 0, p, 20*time.Millisecond, nil)
		if o.Expired != 100 || left > 0 || o.AllGone < 9*time.Second || o.AllGone > 14*time.Second {
			t.Errorf("%d expired within %v, %d keys are left; want 100 within 5 s and a TTL", o.Expired, o.AllGone, left)
		}
		p.Release, p.Held = "4/s", 400 // the load is over while holders die
		if o, left := run(t, expiry.Exact, 0, p, 20*time.Millisecond, nil); o.Expired == 0 || o.Expired == 400 || left > 0 {
			t.Errorf("%d expired and %d keys are left; want some of 400 and none", o.Expired, left)
		}
		p.Release, p.Held = deaths.Never, 100
		if o, left := run(t, expiry.Exact, 0, p, 20*time.Millisecond, nil); o.Abandoned+o.Expired+o.Early+o.Missed > 0 || left > 0 || o.Left > 0 {
			t.Errorf("%+v, and %d keys are left; want none abandoned and none left", o, left)
		}
	})
}

// Sessions that end because renewals had no answer are told from those that the client did not
// renew.
func TestUnrenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(10)
		p.Release = deaths.Never
		o, _ := run(t, expiry.Exact, 0, p, 20*time.Millisecond, func(s *store, _ *Holder) {
			time.Sleep(5 * time.Second)
			s.mu.Lock()
			s.deaf = true
			s.mu.Unlock()
		})
		if o.Unrenewed != 10 || o.Missed+o.Early > 0 || o.KeepsLost == 0 {
			t.Errorf("%d ended without an answer to a renewal, %d were missed, %d early, %d renewals were lost; want 10, 0, 0 and some", o.Unrenewed, o.Missed, o.Early, o.KeepsLost)
		}
	})
	start := time.Unix(1000, 0)
	h := New(Options{Facts: database.SessionFacts{Ends: expiry.Exact.Ends}, Plan: plan(1), Seen: func(string, time.Time, int64) {}})
	h.all = []*held{{Session: keeper.Session{Is: &one{ttl: 8 * time.Second}, Sent: start, Answered: start}, end: database.Change{At: start.Add(9 * time.Second)}}}
	if o := h.Outcome(); o.Missed != 1 || o.Unrenewed+o.Early > 0 {
		t.Errorf("a session that the client did not renew in time is %d missed, %d without an answer, %d early; want 1, 0 and 0", o.Missed, o.Unrenewed, o.Early)
	}
}

// An end that is read right after the client had stopped may have come during the stop.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Facts: database.SessionFacts{Ends: expiry.Exact.Ends}, Plan: plan(1), Keys: "r", Seen: func(string, time.Time, int64) {}})
		start := time.Now()
		s := &held{Session: keeper.Session{Is: &one{ttl: 8 * time.Second}, Sent: start, Answered: start.Add(10 * time.Millisecond)}, abandoned: true, keys: map[int]bool{}}
		h.by, h.all, h.death = []*held{s}, []*held{s}, start
		time.Sleep(8100 * time.Millisecond)
		dog := h.stops.Watchdog()
		h.heard = h.clock.Now()
		time.Sleep(900 * time.Millisecond) // the process is stopped: nothing beats
		h.ended(database.Change{Key: []byte(h.Keys.Of(0, 0)), At: time.Now()})
		dog.End()
		o := h.Outcome()
		// The watchdog was due 10 ms after the stop began.
		if o.Delayed != 1 || o.LongestStop != 890*time.Millisecond || o.Late.Max != int64(time.Second) || o.LateLeast.Max != int64(100*time.Millisecond) {
			t.Errorf("%d ends were delayed by at most %v; late by %v to %v, want 100ms to 1s", o.Delayed, o.LongestStop, time.Duration(o.LateLeast.Max), time.Duration(o.Late.Max))
		}
	})
}
