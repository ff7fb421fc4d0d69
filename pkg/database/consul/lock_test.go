package consul

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

// Consul's texts for a key that was not locked, of version 1.16.
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

// A holder whose session ended learns it, and has lost the lock. The contender is of no more use.
func TestLostLock(t *testing.T) {
	c := startOne(t, "")
	driver := c.Driver().(*Options)
	for _, recipe := range lockFacts().Names() {
		t.Run(recipe, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
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

// sessionOf returns the session of a contender.
func sessionOf(c database.Contender) *session {
	if direct, ok := c.(*contender); ok {
		return direct.session
	}
	return c.(*libraryContender).session
}
