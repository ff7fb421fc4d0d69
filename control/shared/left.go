package shared

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// Left describes what remains below the prefix of a run that ended.
type Left struct {
	// Keys is the number of keys, including those of others.
	Keys int64
	// Claimed reports whether there is a claim. Claim is the claim; zero without one.
	Claimed bool
	Claim   Claim
	// Which are the keys that may be removed, or Why none may.
	Which database.Removable
	Why   error
}

// Find looks for the keys of a run below the target's prefix. It returns an error if some run
// uses the prefix.
func Find(ctx context.Context, driver database.Driver, t database.Target, run string) (Left, error) {
	store := claimStore{driver: driver, target: t}
	c, _, err := store.read(ctx)
	if err = errors.Join(err, store.close()); err != nil {
		return Left{}, fmt.Errorf("read the claim of the prefix %s: %w", t.Prefix, err)
	}
	var l Left
	if l.Keys, err = Count(ctx, driver, t); err != nil {
		return Left{}, fmt.Errorf("count the keys below the prefix %s: %w", t.Prefix, err)
	}
	if c == nil {
		l.Why = errors.New("no claim says whose keys they are")
		return l, nil
	}
	l.Keys, l.Claimed, l.Claim, l.Which = max(l.Keys-store.counted(), 0), true, *c, database.Removable{Numbers: c.Keys}
	switch {
	case c.Live(time.Now()):
		return Left{}, fmt.Errorf("a run uses the prefix %s: %s", t.Prefix, describe(c))
	case !c.Of(run):
		l.Why = fmt.Errorf("the claim below it is not of this run: %s", describe(c))
	}
	return l, nil
}

// CleanLeft removes keys that were found, and the claim. left is 0, or -1 if not known.
func CleanLeft(ctx context.Context, driver database.Driver, t database.Target, l Left, say func(format string, args ...any)) (done results.Cleanup, left int64) {
	done, left = Clean(ctx, driver, t, l.Which, say)
	if left != 0 {
		return done, left
	}
	if l.Claimed {
		store := claimStore{driver: driver, target: t}
		if err := errors.Join(store.remove(ctx), store.close()); err != nil {
			done.Error = fmt.Sprintf("remove the claim: %v", err)
		} else if l.Which.All && store.counted() > 0 {
			done.Removed = max(done.Removed-1, 0) // the claim went with the keys
		}
	}
	if others, err := Count(ctx, driver, t); err == nil && others > 0 {
		say("%d keys below %s/ are of others, and stay", others, t.Prefix)
	}
	return done, left
}
