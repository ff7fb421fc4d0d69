package fake

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// contended makes three contenders take a lock in turns. By the holders' times it returns how often
// two held the lock, how many fences did not grow, and the shortest hand-over.
func contended(t *testing.T, options, recipe string, turns int) (overlaps, old int, shortest time.Duration) {
	t.Helper()
	c := databasetest.Start(t, databasetest.Suite{Database: Database(), Options: options, Addrs: []string{"127.0.3.4"}}, 1)
	locks, err := c.Driver().(*Options).DialLocks(t.Context(), c.Target(), database.LockOptions{Recipe: recipe, TTL: time.Minute})
	if err != nil {
		t.Fatalf("dial locks: %v", err)
	}
	type turn struct {
		from, to time.Time
		fence    int64
	}
	var mu sync.Mutex
	var all []turn
	var contenders sync.WaitGroup
	for range 3 {
		one, err := locks.Contender(t.Context())
		if err != nil {
			t.Fatalf("make a contender: %v", err)
		}
		contenders.Go(func() {
			defer func() { _ = one.Close(context.Background()) }()
			for range turns / 3 {
				held, err := one.Acquire(t.Context(), []byte("lock"), nil)
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				mu.Lock()
				all = append(all, turn{from: held.At, fence: held.Fence, to: time.Now()})
				mu.Unlock()
				if err := one.Release(t.Context()); err != nil {
					t.Errorf("release: %v", err)
					return
				}
			}
		})
	}
	contenders.Wait()
	shortest = time.Hour
	for i := 1; i < len(all); i++ {
		gap := all[i].from.Sub(all[i-1].to)
		if shortest = min(shortest, gap); gap < 0 {
			overlaps++
		}
		if all[i].fence <= all[i-1].fence {
			old++
		}
	}
	return overlaps, old, shortest
}

// No turn begins before the hand-over is over.
func TestHandOver(t *testing.T) {
	for _, recipe := range lockFacts().Names() {
		const handOver = 20 * time.Millisecond
		overlaps, old, shortest := contended(t, "hand_over: "+handOver.String(), recipe, 30)
		if overlaps > 0 || old > 0 || shortest < handOver {
			t.Errorf("%s: %d overlaps, %d fences that did not grow, a hand-over of %v; want none, and at least %v", recipe, overlaps, old, shortest, handOver)
		}
	}
}

// Fences that do not grow are found.
func TestOldFence(t *testing.T) {
	if _, old, _ := contended(t, "old_fence_every: 10", recipeQueue, 300); old != 30 {
		t.Errorf("%d of 300 fences did not grow, want 30", old)
	}
}

// A holder learns that its session ended, and has lost the lock.
func TestLostLock(t *testing.T) {
	c := databasetest.Start(t, databasetest.Suite{Database: Database(), Addrs: []string{"127.0.3.4"}}, 1)
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	locks, err := c.Driver().(*Options).DialLocks(ctx, c.Target(), database.LockOptions{})
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
	if err := holder.(*contender).session.Release(ctx); err != nil {
		t.Fatalf("release the session: %v", err)
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
}
