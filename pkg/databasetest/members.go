package databasetest

import (
	"context"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// follower returns a member that does not lead. If the leader is unknown, it is any member but
// the first.
func follower(t *testing.T, f *fixture) int {
	t.Helper()
	leads := 0
	if drives[database.Leader](f) {
		leads = leader(t, f)
	}
	return other(f, leads)
}

// other returns another member.
func other(f *fixture, member int) int { return (member + 1) % len(f.members) }

// recovers writes until 99 of 100 writes in a row are ok, and fails the test after
// recoverWithin.
func recovers(t *testing.T, f *fixture, c database.Client) {
	t.Helper()
	const window, allowed = 100, 1
	deadline := time.Now().Add(recoverWithin)
	var written, failed int
	var last error
	for written < window {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := inTime(ctx, func(ctx context.Context) error { return c.Put(ctx, f.key(), bytesOf(256)) })
		cancel()
		written++
		if err != nil {
			failed, last = failed+1, err
			time.Sleep(20 * time.Millisecond) // writes to an unreachable member fail at once
		}
		if failed > allowed {
			written, failed = 0, 0
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v after the loss, %d of the last %d writes failed, want at most 1 of 100; the last: %v", recoverWithin, failed, written, last)
		}
	}
}

// leads returns the leader, or -1 if the driver does not know it.
func (f *fixture) leads(t *testing.T) int {
	t.Helper()
	if !drives[database.Leader](f) {
		return -1
	}
	return leader(t, f)
}

// leader polls until a member leads.
func leader(t *testing.T, f *fixture) (index int) {
	t.Helper()
	Until(t, recoverWithin, 50*time.Millisecond, func() (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		index, err = f.driver.(database.Leader).Leader(ctx, f.Target())
		return err
	})
	return index
}
