package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
)

// store grants sessions from a table in no time, and reports changes to watchers after a delay that
// differs by watcher.
type store struct {
	table *expiry.Table
	// every is the time between two looks at the table.
	every time.Duration
	// delay is the time until a watcher receives a change, by watcher number.
	delay func(watcher int) time.Duration
	// loses reports whether a watcher never receives a change, and breaks whether its watch ends.
	loses  func(watcher int, c database.Change) bool
	breaks func(watcher int, c database.Change) bool
	// deaf means that renewals have no answer, and remains that ended sessions leave something
	// behind.
	deaf, remains bool
	// refuses is a key that no session gets.
	refuses string

	mu       sync.Mutex
	open     map[int64]bool
	released int // at the end of the run
}

// client is a watcher's connection, or the one for all instances.
type client struct {
	*store
	watcher int
}

type one struct {
	on  *store
	id  int64
	ttl time.Duration
}

func (s *store) Grant(_ context.Context, ttl time.Duration) (database.Session, error) {
	o := &one{s, s.table.Grant(ttl, time.Now()), ttl}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[o.id] = true
	return o, nil
}

var errBroken = errors.New("the connection ended")

func (s *client) Watch(ctx context.Context, ready func(), changed func(database.Change)) error {
	n := s.watcher
	var later []database.Change
	var broken bool
	listed := database.NewListed(ready, func(c database.Change) {
		c.At, c.Since = c.At.Add(s.delay(n)), time.Time{}
		broken = broken || s.breaks != nil && s.breaks(n, c)
		if s.loses == nil || !s.loses(n, c) {
			later = append(later, c)
		}
	})
	for {
		now := time.Now()
		if look := now.Truncate(s.every); look.Equal(now) { // all watchers look at the same times
			listed.Next(s.table.Names("", now), now, now)
		}
		for len(later) > 0 && !later[0].At.After(now) {
			changed(later[0])
			later = later[1:]
		}
		if broken {
			return errBroken
		}
		wait := time.Until(now.Truncate(s.every).Add(s.every))
		if len(later) > 0 {
			wait = min(wait, time.Until(later[0].At))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *store) Close() error { return nil }

func (o *one) TTL() time.Duration { return o.ttl }

func (o *one) closed() {
	o.on.mu.Lock()
	defer o.on.mu.Unlock()
	delete(o.on.open, o.id)
}

func (o *one) Abandon() { o.closed() }

func (o *one) Release(context.Context) error {
	o.closed()
	o.on.mu.Lock()
	o.on.released++
	o.on.mu.Unlock()
	o.on.table.Release(o.id)
	return nil
}

var errRefused = errors.New("no room")

func (o *one) Attach(_ context.Context, key, _ []byte) error {
	if string(key) == o.on.refuses {
		return errRefused
	}
	o.on.table.Attach(o.id, string(key), time.Now())
	return nil
}

func (o *one) Take(_ context.Context, key, _ []byte) (bool, error) {
	there, taken := o.on.table.Take(o.id, string(key), time.Now())
	if !there {
		return false, database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	return taken, nil
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

func plan() discovery.Plan {
	return discovery.Plan{
		Instances: 40, Consumers: 5, Notice: 10 * time.Second, TTL: 8 * time.Second, Keep: 3 * time.Second,
		Deaths: 10, Deploys: 5, After: 5 * time.Second, Within: 20 * time.Second,
	}
}

// run has a service on a store for a one-minute load.
func run(t *testing.T, s *store, p discovery.Plan) (o discovery.Outcome, left int) {
	t.Helper()
	if s.open = map[int64]bool{}; s.delay == nil {
		s.delay = func(int) time.Duration { return 0 }
	}
	h := New(Options{
		Dial:  func(_ context.Context, n int) (database.Sessions, error) { return &client{s, n - 1}, nil },
		Facts: database.SessionFacts{What: "session", Rule: expiry.Exact.Rule(), Ends: expiry.Exact.Ends, Remains: s.remains}, Plan: p, Keys: "r", Workers: 8, Seed: 7,
		Seen: func(string, time.Time, int64) {},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.Register(ctx); err != nil {
		t.Fatalf("register: %v", err)
	}
	if err := h.Follow(ctx); err != nil {
		t.Fatalf("follow: %v", err)
	}
	if err := h.Run(ctx); err != nil {
		t.Fatalf("run: %v", err)
	}
	time.Sleep(p.TTL + 2*time.Second) // the rest of the load
	s.released = 0
	h.End(t.Context())
	if len(s.open) > 0 {
		t.Errorf("%d sessions were neither abandoned nor released", len(s.open))
	}
	return h.Outcome(), len(s.table.Names("", time.Now()))
}

// Registrations of dead instances are released where something remains of them.
func TestRemains(t *testing.T) {
	for _, remains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, p := exactly(0), plan()
			s.remains = remains
			run(t, s, p)
			want := p.Instances + p.Deploys + 1 // the last is the one after the load
			if !remains {
				want -= p.Deaths
			}
			if s.released != want {
				t.Errorf("%d registrations were released at the end, want %d; ended ones remain: %v", s.released, want, remains)
			}
		})
	}
}

func exactly(early int) *store {
	return &store{table: expiry.NewTable(expiry.Exact, early, time.Now()), every: 10 * time.Millisecond}
}

// near fails unless a time equals the wanted one, to 1 % and the time between two looks at the
// store.
func near(t *testing.T, what string, got, want, look time.Duration) {
	t.Helper()
	if off := time.Duration(math.Abs(float64(got - want))); off > want/100+look {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The laws of a store are found again: when sessions end, and when the last consumer knows. The
// parts of each change add up to the whole.
func TestLaws(t *testing.T) {
	for _, delay := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := exactly(0)
				s.delay = func(n int) time.Duration { return delay * time.Duration(n) / 4 } // the first at once, the last after the whole delay
				p := plan()
				o, left := run(t, s, p)
				if o.Registered.Registered != 40 || o.Watching != 5 || o.Count(discovery.Death) != 10 || len(o.Of(discovery.Death)) != 10 || len(o.Of(discovery.Deploy)) != 5 || left > 0 {
					t.Fatalf("%d instances, %d consumers, changes %+v; %d keys are left", o.Registered.Registered, o.Watching, o.Changes, left)
				}
				if c := o.Counts; c.Early+c.Alive+c.Unrenewed+c.Missed+c.Lost+c.Behind > 0 || o.BehindWhy != "" || o.Left > 0 || len(o.Witnesses) > 0 {
					t.Errorf("an honest store has %+v, %q, %+v", c, o.BehindWhy, o.Witnesses)
				}
				for _, c := range o.Changes {
					look := time.Duration(0)
					if c.Kind == discovery.Deploy { // it begins between two looks
						look = s.every
					}
					near(t, "the fan-out", c.FanOut, delay, look)
					if sum := c.Left + c.Late + c.Again + c.FanOut; sum != c.Whole {
						t.Errorf("the parts of %+v add up to %v", c, sum)
					}
					if c.Kind == discovery.Death {
						near(t, "the end of the session after its TTL", c.Left+c.Late, c.Left, s.every)
						if c.Left < p.TTL-p.Keep || c.Left > p.TTL {
							t.Errorf("%v of the TTL were left, want between %v and %v", c.Left, p.TTL-p.Keep, p.TTL)
						}
					}
					if c.At < p.After || c.At > p.After+p.Within {
						t.Errorf("a change happened after %v, want from %v on for %v", c.At, p.After, p.Within)
					}
				}
			})
		})
	}
}

// Instances elect a leader, and after its death another one. The parts of an election are the times
// until the session ended, until another instance led, and until the last consumer received it, and
// they add up.
func TestElections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const told, last = 50 * time.Millisecond, 100 * time.Millisecond
		s, p := exactly(0), plan()
		p.Instances, p.Deaths, p.Deploys, p.Elections, p.Within = 10, 0, 0, 3, 45*time.Second
		s.delay = func(n int) time.Duration {
			if n < p.Consumers { // the first at once, the last after the whole delay
				return last * time.Duration(n) / time.Duration(p.Consumers-1)
			}
			return told // instances, which are not consumers
		}
		o, left := run(t, s, p)
		if o.Count(discovery.Election) != 3 || len(o.Of(discovery.Election)) != 3 || left > 0 {
			t.Fatalf("changes %+v; %d keys are left", o.Changes, left)
		}
		if c := o.Counts; c.Early+c.Alive+c.Unrenewed+c.Missed+c.Lost+c.Behind > 0 || o.BehindWhy != "" || o.Left > 0 || o.Why != "" {
			t.Errorf("an honest store has %+v, %q, %q", c, o.BehindWhy, o.Why)
		}
		leaders := map[int]bool{}
		for _, c := range o.Changes {
			leaders[c.Instance] = true
			if sum := c.Left + c.Late + c.HandOff + c.FanOut; sum != c.Whole {
				t.Errorf("the parts of %+v add up to %v", c, sum)
			}
			near(t, "the end of the session after its TTL", c.Left+c.Late, c.Left, s.every)
			near(t, "the hand-off", c.HandOff, told, 0)
			near(t, "the fan-out", c.FanOut, last, s.every)
			if c.Left < p.TTL-p.Keep || c.Left > p.TTL {
				t.Errorf("%v of the TTL were left, want between %v and %v", c.Left, p.TTL-p.Keep, p.TTL)
			}
		}
		if len(leaders) != 3 {
			t.Errorf("the leaders that died were %v, want three", leaders)
		}
	})
}

// Where no instance can lead after the first leader, its death stays unknown, and the next election
// has no leader.
func TestNoNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := exactly(0), plan()
		p.Instances, p.Deaths, p.Deploys, p.Elections, p.Within = 1, 0, 0, 2, 30*time.Second
		o, _ := run(t, s, p)
		if o.Count(discovery.Election) != 2 || len(o.Of(discovery.Election)) != 0 || o.Behind != p.Consumers || o.Changes[1].Why != errNoLeader.Error() {
			t.Errorf("changes %+v, counts %+v", o.Changes, o.Counts)
		}
	})
}

// Obstacles to elections are named: a next leader that cannot announce itself, and an instance
// that no longer follows the leader, among others that do.
func TestElectionsInTrouble(t *testing.T) {
	for _, test := range []struct {
		why   string
		set   func(*store, discovery.Plan)
		known int
	}{
		{"try to lead: no room", func(s *store, p discovery.Plan) { s.refuses = fmt.Sprintf("r-%d-1", p.Instances+1) }, 0},
		{"instance 0: follow the leader: the connection ended", func(s *store, p discovery.Plan) {
			s.breaks = func(watcher int, _ database.Change) bool { return watcher == p.Consumers }
		}, 1},
	} {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := exactly(0), plan()
				p.Instances, p.Deaths, p.Deploys, p.Elections = 10, 0, 0, 1
				test.set(s, p)
				if o, _ := run(t, s, p); o.Why != test.why || len(o.Of(discovery.Election)) != test.known || o.Lost > 0 {
					t.Errorf("%q, changes %+v, counts %+v; want %q and %d known to all", o.Why, o.Changes, o.Counts, test.why, test.known)
				}
			})
		})
	}
}

// A registration that ends before its TTL, while its instance lives, is found with the time by
// which it was early.
func TestEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan()
		p.Keep = 5 * time.Second      // so that instances are alive when that happens
		o, _ := run(t, exactly(9), p) // every ninth of forty sessions ends after half its TTL
		if o.Early < 4 || o.Missed+o.Unrenewed+o.Lost > 0 || len(o.Witnesses) != o.Early {
			t.Fatalf("counts %+v, witnesses %+v; want instances that were declared dead early", o.Counts, o.Witnesses)
		}
		for _, w := range o.Witnesses {
			if w.Fault != discovery.Early || w.After < 3900*time.Millisecond || w.After > 4100*time.Millisecond {
				t.Errorf("witness %+v, want an end after half of the TTL", w)
			}
		}
	})
}

// A consumer that never receives a change is found, if it receives later ones.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := exactly(0)
		lost := ""
		s.loses = func(n int, c database.Change) bool {
			if n != 3 || c.New {
				return false
			}
			if lost == "" {
				lost = string(c.Key)
			}
			return string(c.Key) == lost
		}
		o, _ := run(t, s, plan())
		if o.Lost != 1 || o.Behind+o.Early+o.Missed > 0 || len(o.Witnesses) != 1 || o.Witnesses[0].Fault != discovery.Lost || o.Witnesses[0].Consumer != 3 {
			t.Fatalf("counts %+v, witnesses %+v; want one change that consumer 3 lost", o.Counts, o.Witnesses)
		}
		if lost != fmt.Sprintf("r-%d-0", o.Witnesses[0].Instance) {
			t.Errorf("consumer 3 was not told of %s, found is %+v", lost, o.Witnesses[0])
		}
	})
}

// A consumer whose watch ends is left out, and the changes that others received still count.
func TestBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := exactly(0)
		s.breaks = func(n int, c database.Change) bool { return n == 2 && !c.New }
		o, _ := run(t, s, plan())
		if o.Broken != 1 || o.Watching != 4 || o.BrokenWhy != errBroken.Error() || o.Lost > 0 || len(o.Of(discovery.Death)) != 10 {
			t.Errorf("%d consumers broke (%s), counts %+v, %d deaths were known", o.Broken, o.BrokenWhy, o.Counts, len(o.Of(discovery.Death)))
		}
	})
}

// Instances whose renewals have no answer end, which is not early.
func TestDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := exactly(0)
		go func() {
			time.Sleep(time.Second)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.deaf = true
		}()
		p := plan()
		p.Deaths, p.Deploys = 0, 0
		p.After, p.Within = 5*time.Second, 30*time.Second
		o, _ := run(t, s, p)
		if o.Early+o.Missed > 0 || o.Unrenewed != 40 || o.KeepsLost < 40 {
			t.Errorf("counts %+v, %d renewals lost; want all instances to end because renewals had no answer", o.Counts, o.KeepsLost)
		}
	})
}

// An interrupted load has no barrier: missing changes may still come.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := exactly(0)
		s.open, s.delay = map[int64]bool{}, func(int) time.Duration { return 0 }
		p := plan()
		h := New(Options{
			Dial:  func(_ context.Context, n int) (database.Sessions, error) { return &client{s, n - 1}, nil },
			Facts: database.SessionFacts{Ends: expiry.Exact.Ends}, Plan: p, Keys: "r", Workers: 8, Seen: func(string, time.Time, int64) {},
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := errors.Join(h.Register(ctx), h.Follow(ctx), h.Run(ctx)); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		h.End(ctx)
		if o := h.Outcome(); o.Lost > 0 || o.BehindWhy == "" || len(o.Changes) == 0 || len(s.table.Names("", time.Now())) > 0 {
			t.Errorf("the outcome is %+v, want changes of which nothing is known to be lost", o)
		}
	})
}
