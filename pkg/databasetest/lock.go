package databasetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// theirPrefix is the prefix for others' locks with the same names.
const theirPrefix = "shared/run-10"

// openLocks dials locks the test closes at its end.
func openLocks(t *testing.T, f *fixture, prefix string, o database.LockOptions) database.Locks {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	target := f.Target()
	target.Prefix = prefix
	l, err := f.driver.(database.LockDialer).DialLocks(ctx, target, o)
	if err != nil {
		t.Fatalf("dial locks: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close locks: %v", err)
		}
	})
	return l
}

// contend returns a contender the test closes at its end.
func contend(t *testing.T, l database.Locks) database.Contender {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	c, err := l.Contender(ctx)
	if err != nil {
		t.Fatalf("make a contender: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), opWithin)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close a contender: %v", err)
		}
	})
	return c
}

// acquired takes a lock.
func acquired(t *testing.T, c database.Contender, name string) database.Held {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	held, err := c.Acquire(ctx, []byte(name), nil)
	if err != nil {
		t.Fatalf("acquire %q: %v", name, err)
	}
	return held
}

// gaveUp releases a held lock.
func gaveUp(t *testing.T, c database.Contender) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := c.Release(ctx); err != nil {
		t.Fatalf("release a lock: %v", err)
	}
}

// locksCase: only one of several contenders holds a lock at a time, and fences grow. An abandoned
// wait and a dead holder do not stop the others. Locks below another prefix are separate, and
// nothing is left.
func locksCase(t *testing.T, f *fixture) {
	facts := database.LockFactsOf(f.info(), f.driver)
	prefix := ""
	if f.open() {
		prefix = ourPrefix
	}
	t.Run("used", func(t *testing.T) { // its end closes everything
		var dead []func(*testing.T)
		if f.open() { // first, because it takes longest
			dead = f.deadHolders(t, prefix, facts)
		}
		for _, recipe := range facts.Recipes {
			o := database.LockOptions{Recipe: recipe.Name, TTL: facts.Session.Least + time.Minute}
			f.part(t, recipe.Name+": turns", func(t *testing.T) { takeTurns(t, openLocks(t, f, prefix, o), recipe) })
			f.part(t, recipe.Name+": requests", func(t *testing.T) { f.lockLoad(t, prefix, o) })
			f.part(t, recipe.Name+": give up", func(t *testing.T) {
				giveUp(t, openLocks(t, f, prefix, o), openLocks(t, f, theirPrefix, o))
			})
		}
		for i, check := range dead {
			f.part(t, fmt.Sprintf("dead holder %d", i+1), check)
		}
	})
	f.part(t, "nothing is left", func(t *testing.T) {
		if f.suite.Held == nil {
			return
		}
		Until(t, opWithin, 100*time.Millisecond, func() error {
			for name := range f.suite.Held(t, f.Cluster) {
				if strings.Contains(name, strings.TrimSuffix(database.LockKeys, "/")) {
					return fmt.Errorf("%q is left", name)
				}
			}
			return nil
		})
	})
}

// takeTurns makes contenders take a lock repeatedly.
func takeTurns(t *testing.T, l database.Locks, recipe database.LockRecipe) {
	const name = "one/lock %1"
	ctx, cancel := context.WithTimeout(t.Context(), 2*opWithin)
	defer cancel()
	var inside, places atomic.Int64
	var mu sync.Mutex
	var fences []int64
	var all sync.WaitGroup
	for range lockContenders {
		c := contend(t, l)
		all.Go(func() {
			for range lockTurns {
				sent := time.Now()
				held, err := c.Acquire(ctx, []byte(name), func() { places.Add(1) })
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				mu.Lock()
				fences = append(fences, held.Fence)
				mu.Unlock()
				if held.At.Before(sent) || held.At.After(time.Now()) {
					t.Errorf("the lock was held from %v on, and asked for at %v", held.At, sent)
				}
				inside.Add(-1)
				if err := c.Release(ctx); err != nil {
					t.Errorf("release: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	for i := 1; i < len(fences); i++ {
		if fences[i] <= fences[i-1] {
			t.Errorf("fence %d follows %d", fences[i], fences[i-1])
		}
	}
	want := int64(0)
	if recipe.Places {
		want = lockContenders * lockTurns
	}
	if got := places.Load(); got != want && !t.Failed() {
		t.Errorf("%d places were reported, want %d", got, want)
	}
}

// giveUp ends a wait while the lock is held, and then others take the lock.
func giveUp(t *testing.T, ours, theirs database.Locks) {
	const name = "given up"
	holder, waiter, next := contend(t, ours), contend(t, ours), contend(t, ours)
	first := acquired(t, holder, name)
	acquired(t, contend(t, theirs), name)
	acquired(t, contend(t, ours), name+"/besides")
	ctx, cancel := context.WithTimeout(t.Context(), giveUpAfter)
	defer cancel()
	err := inTime(ctx, func(ctx context.Context) error {
		_, err := waiter.Acquire(ctx, []byte(name), nil)
		return err
	})
	if _, class := database.Classify(err); class != database.ClassTimeout {
		t.Fatalf("a wait that was given up returned %v, of class %q, want %q", err, class, database.ClassTimeout)
	}
	got := make(chan database.Held)
	var waits sync.WaitGroup
	waits.Go(func() {
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		defer cancel()
		held, err := next.Acquire(ctx, []byte(name), nil)
		if err != nil {
			t.Errorf("acquire: %v", err)
		}
		got <- held
	})
	gaveUp(t, holder)
	second := <-got
	waits.Wait()
	if second.Fence <= first.Fence {
		t.Errorf("fence %d follows %d", second.Fence, first.Fence)
	}
	if t.Failed() {
		return
	}
	select {
	case <-second.Lost:
		t.Error("the lock is lost although it is held")
	default:
	}
	gaveUp(t, next)
	acquired(t, waiter, name)
}

// deadHolders lets a holder of each recipe die while another contender waits, and returns functions
// that check when its lock passed.
func (f *fixture) deadHolders(t *testing.T, prefix string, facts *database.LockFacts) []func(*testing.T) {
	t.Helper()
	var options []database.LockOptions
	for _, recipe := range facts.Recipes {
		options = append(options, database.LockOptions{Recipe: recipe.Name, TTL: max(facts.Session.Least, leastTTL)})
	}
	if facts.Delayed != "" {
		delayed := options[len(options)-1]
		delayed.Delay = lockDelay
		options = append(options, delayed)
	}
	var checks []func(*testing.T)
	for _, o := range options {
		checks = append(checks, f.deadHolder(t, prefix, facts, o))
	}
	return checks
}

// deadHolder lets one holder die.
func (f *fixture) deadHolder(t *testing.T, prefix string, facts *database.LockFacts, o database.LockOptions) func(*testing.T) {
	t.Helper()
	recipe, err := facts.Recipe(o.Recipe)
	if err != nil {
		t.Fatal(err)
	}
	others := o
	others.TTL += time.Minute
	waits := contend(t, openLocks(t, f, prefix, others))
	name := fmt.Sprintf("of a dead holder, %+v", o)
	earliest, _ := facts.Session.Ends(facts.Session.Granted(o.TTL), 1)
	began, dead, was := f.briefHolder(t, prefix, o, name, earliest)
	_, latest := facts.Passes(recipe, o)
	ctx, cancel := context.WithTimeout(t.Context(), latest+opWithin)
	passed := make(chan error, 1)
	var held database.Held
	go func() {
		defer cancel()
		var err error
		if held, err = waits.Acquire(ctx, []byte(name), nil); err == nil {
			err = waits.Release(ctx)
		}
		passed <- err
	}()
	dead.Abandon()
	return func(t *testing.T) {
		if err := <-passed; err != nil {
			t.Fatalf("the lock of a dead holder has not passed within %v: %v", latest+opWithin, err)
		}
		if after := held.At.Sub(began); after < earliest+o.Delay {
			t.Errorf("it passed %v after the session began, want at least %v", after, earliest+o.Delay)
		}
		if held.Fence <= was.Fence {
			t.Errorf("fence %d follows %d", held.Fence, was.Fence)
		}
	}
}

// briefHolder takes a lock with a session that may end earliest after it began. If a busy machine
// is later than that, another session takes the lock.
func (f *fixture) briefHolder(t *testing.T, prefix string, o database.LockOptions, name string, earliest time.Duration) (began time.Time, c database.Contender, held database.Held) {
	t.Helper()
	Until(t, Patience, 0, func() (err error) {
		began = time.Now()
		c = contend(t, openLocks(t, f, prefix, o))
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		defer cancel()
		held, err = c.Acquire(ctx, []byte(name), nil)
		if err != nil && time.Since(began) < earliest {
			t.Fatalf("acquire %q: %v", name, err)
		}
		if err != nil {
			c.Abandon()
			t.Logf("acquire %q after %v: %v", name, time.Since(began), err)
		}
		return err
	})
	return began, c, held
}

// lockFacts: a database has the facts about its locks, or the reason why it has no locks.
func lockFacts(t *testing.T, f *fixture) {
	dialer, dials := f.driver.(database.LockDialer)
	facts := database.LockFactsOf(f.info(), f.driver)
	if dials != (facts != nil) || dials == (f.info().NoLocks != "") {
		t.Fatalf("the driver dials locks: %v; it must have facts of them (%v) or the reason why not (%q)", dials, facts, f.info().NoLocks)
	}
	if !dials {
		return
	}
	if facts.What == "" || len(facts.Recipes) == 0 || facts.Renews == nil || facts.Session.Ends == nil || facts.Session.Step <= 0 ||
		facts.Renews(facts.Session.Least) >= facts.Session.Least || (facts.Delayed == "") != (facts.MostDelay == 0) || facts.Delay > facts.MostDelay {
		t.Errorf("the facts of locks are incomplete or contradict themselves: %+v", *facts)
	}
	for _, r := range facts.Recipes {
		if r.Name == "" || r.Fence == "" || r.Waits == "" || r.By() == "" {
			t.Errorf("the facts of a recipe are incomplete: %+v", r)
		}
		if earliest, latest := facts.Passes(r, database.LockOptions{}); latest < earliest {
			t.Errorf("%s: the lock of a dead holder passes after %v to %v", r.Name, earliest, latest)
		}
	}
	for name, o := range map[string]database.LockOptions{
		"an unknown recipe": {Recipe: "none"}, "a delay that is too long": {Delay: facts.MostDelay + time.Second},
	} {
		if l, err := dialer.DialLocks(t.Context(), f.Target(), o); err == nil {
			t.Errorf("%s must be an error", name)
			_ = l.Close()
		}
	}
}
