package zookeeper

import (
	"context"
	"errors"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// The znode with the next lower number is in front of a contender's znode.
func TestBefore(t *testing.T) {
	const own = "_c_2-lock-0000000012"
	for _, tt := range []struct {
		what  string
		names []string
		front string
		first bool
		gone  bool
	}{
		{"alone", []string{own}, "", false, false},
		{"behind the holder", []string{"_c_9-lock-0000000007", own}, "_c_9-lock-0000000007", true, false},
		{"behind one that waits", []string{"_c_3-lock-0000000011", own, "_c_9-lock-0000000007"}, "_c_3-lock-0000000011", false, false},
		{"before others", []string{"_c_1-lock-0000000013", own}, "", false, false},
		{"beside others' znodes", []string{"other", "lock-x", own}, "", false, false},
		{"gone", []string{"_c_9-lock-0000000007"}, "", false, true},
		{"none", nil, "", false, true},
	} {
		front, first, err := before(tt.names, own)
		if errors.Is(err, database.ErrNoSession) != tt.gone || !tt.gone && (err != nil || front != tt.front || first != tt.first) {
			t.Errorf("%s: %q, first: %v, %v; want %q, %v", tt.what, front, first, err, tt.front, tt.first)
		}
	}
	if _, _, err := before(nil, "lock"); err == nil || errors.Is(err, database.ErrNoSession) {
		t.Errorf("a znode without a number: %v", err)
	}
}

// lostLock: a holder whose znode is gone has lost the lock.
func lostLock(t *testing.T, c *databasetest.Cluster) {
	driver := c.Driver().(*Options)
	other, err := open(t.Context(), c.Target(), 64<<10)
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	defer other.close()
	for _, recipe := range LockFacts(driver.SessionFacts()).Names() {
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
			if _, err := holder.Acquire(ctx, []byte("lock"), nil); err != nil {
				t.Fatalf("acquire: %v", err)
			}
			const dir = "/locks/lock"
			names, err := other.names(ctx, dir)
			if err != nil || len(names) != 1 {
				t.Fatalf("the contenders are %q (%v), want one", names, err)
			}
			if err := other.remove(ctx, []byte(dir+"/"+names[0])); err != nil {
				t.Fatalf("remove a znode: %v", err)
			}
			if err := holder.Release(ctx); !errors.Is(err, database.ErrLockLost) {
				t.Errorf("the release returned %v, want %v", err, database.ErrLockLost)
			}
			if _, err := holder.Acquire(ctx, []byte("lock"), nil); err != nil {
				t.Errorf("the session has not ended, and acquiring once more returned %v", err)
			}
		})
	}
}

func BenchmarkHandOvers(b *testing.B) { databasetest.BenchmarkHandOvers(b, suite(b, newest)) }
