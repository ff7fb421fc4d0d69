package consul

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// The Consul texts for a key that was not locked, from version 1.16.
func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		what string
		how  taken
		is   error
	}{
		{`failed to lock key "locks/a", lock is already held`, lockHeld, nil},
		{`failed to lock key "locks/a" due to lock delay`, lockDelayed, nil},
		{`invalid session "b2bdd6e1-37b3-4b4e-9d0e-3a0c4ab0b9c1"`, lockFailed, database.ErrNoSession},
	} {
		if how, err := refusal(tt.what); how != tt.how || !errors.Is(err, tt.is) {
			t.Errorf("%q means %d, %v; want %d, %v", tt.what, how, err, tt.how, tt.is)
		}
	}
	if _, class := database.Classify(second(refusal("Permission denied"))); class != database.ClassDenied {
		t.Errorf("a denied lock is of class %q", class)
	}
}

func second(_ taken, err error) error { return err }

// A holder learns that its session ended, and has lost the lock. The contender is then useless.
func TestLostLock(t *testing.T) {
	t.Parallel()
	c := startOne(t, "")
	driver := c.Driver().(*Options)
	for _, recipe := range lockFacts().Names() {
		t.Run(recipe, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
			defer cancel()
			locks, err := driver.DialLocks(ctx, c.Target(), database.LockOptions{Recipe: recipe})
			if err != nil {
				t.Fatalf("dial locks: %v", err)
			}
			holder, err := locks.Contender(ctx)
			if err != nil {
				t.Fatalf("make a contender: %v", err)
			}
			defer holder.Close(ctx)
			held, err := holder.Acquire(ctx, []byte("lock"), nil)
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			one := sessionOf(holder)
			if _, err := one.on.api.Session().Destroy(one.id, (&api.WriteOptions{}).WithContext(ctx)); err != nil {
				t.Fatalf("destroy the session: %v", err)
			}
			select {
			case <-held.Lost:
			case <-ctx.Done():
				t.Fatal("the holder has not learned that its session ended")
			}
			if err := holder.Release(ctx); !errors.Is(err, database.ErrLockLost) {
				t.Errorf("the release returned %v, want %v", err, database.ErrLockLost)
			}
			if _, err := holder.Acquire(ctx, []byte("lock"), nil); !errors.Is(err, database.ErrNoSession) {
				t.Errorf("acquiring once more returned %v, want %v", err, database.ErrNoSession)
			}
		})
	}
}

// sessionOf returns a contender's session.
func sessionOf(c database.Contender) *session {
	if direct, ok := c.(*contender); ok {
		return direct.session
	}
	return c.(*libraryContender).session
}

func BenchmarkHandOvers(b *testing.B) { databasetest.BenchmarkHandOvers(b, suite(b)) }

// A dead holder's lock passes later by its LockDelay. 0 means no delay, which the Consul client
// cannot request.
func TestLockDelay(t *testing.T) {
	if !slowtest.Long() {
		t.Skip("it waits for 35 s")
	}
	c := startOne(t, "")
	began := time.Now()
	passed := map[time.Duration]time.Time{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, delay := range []time.Duration{0, lockDelay} {
		locks, err := c.Driver().(*Options).DialLocks(t.Context(), c.Target(), database.LockOptions{Recipe: database.LockDirect, Delay: delay})
		if err != nil {
			t.Fatalf("dial locks: %v", err)
		}
		name := []byte(delay.String())
		var both [2]database.Contender
		for i := range both {
			if both[i], err = locks.Contender(t.Context()); err != nil {
				t.Fatalf("make a contender: %v", err)
			}
			defer both[i].Close(context.Background())
		}
		if _, err := both[0].Acquire(t.Context(), name, nil); err != nil {
			t.Fatalf("acquire: %v", err)
		}
		both[0].Abandon()
		all.Go(func() {
			held, err := both[1].Acquire(t.Context(), name, nil)
			if err != nil {
				t.Errorf("acquire: %v", err)
			}
			mu.Lock()
			passed[delay] = held.At
			mu.Unlock()
		})
	}
	all.Wait()
	at, later := passed[0], passed[lockDelay]
	t.Logf("without a delay the lock passed after %v, with %v after %v", at.Sub(began), lockDelay, later.Sub(began))
	if !at.Before(later) || at.Sub(began) < 2*leastTTL || later.Sub(began) < 2*leastTTL+lockDelay {
		t.Errorf("want at least %v, and at least %v", 2*leastTTL, 2*leastTTL+lockDelay)
	}
}
