package shared

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// Left describes the keys and the claim below the prefix of an ended run.
type Left struct {
	// Keys counts the keys, including others'.
	Keys int64
	// Claimed reports whether there is a claim. Claim is the claim; zero without one.
	Claimed bool
	Claim   Claim
	// Which are the keys that may be removed, or Why no key may.
	Which database.Removable
	Why   error
}

// Find looks for keys of a run below the target prefix. It returns an error if some run uses the
// prefix.
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

// CleanLeft removes the keys that were found, and the claim, for the user owner. Meanwhile it holds
// the prefix, so that no run can begin to use it: if a run has begun since the keys were found,
// that is an error, and nothing is removed. left is 0, or -1 if not known. It reports remaining
// foreign keys.
func CleanLeft(ctx context.Context, driver database.Driver, t database.Target, l Left, owner string, say func(format string, args ...any)) (done results.Cleanup, left int64) {
	store := &claimStore{driver: driver, target: t}
	h, err := takeOver(ctx, store, l, owner)
	switch {
	case errors.Is(err, errFull):
		say("the store is full and takes no claim of the prefix %s, also from runs: keys are removed without one", t.Prefix)
		return cleanFull(ctx, store, l, say)
	case err != nil:
		return results.Cleanup{Error: errors.Join(err, store.close()).Error()}, -1
	}
	giveBack := func(ctx context.Context) error {
		h.stop()
		return errors.Join(h.update(ctx, func(c *Claim) { *c = l.Claim; c.Expires = time.Time{} }), h.disconnect())
	}
	if !l.Claimed {
		giveBack = h.Remove
	}
	return h.cleanUp(ctx, l.Which, giveBack, say)
}

// errFull reports a claim that was not written because the store is full.
var errFull = errors.New("the store is full")

// takeOver replaces the claim that was found with one for this cleanup, for the same keys. If the
// claim has changed meanwhile, that is an error.
func takeOver(ctx context.Context, store *claimStore, l Left, owner string) (*Hold, error) {
	version, err := unchanged(ctx, store, l)
	if err != nil {
		return nil, err
	}
	c := l.Claim
	if !l.Claimed {
		c.Owner = owner
	} else if !slices.Contains(c.Runs, c.Run) {
		c.Runs = append(slices.Clone(c.Runs), c.Run) // its keys are found again if this cleanup ends too early
	}
	// The cleanup gets its own name: a run that was stopped for long, or another cleanup, then
	// finds that it has lost the prefix.
	c.Run, c.Expires = "cleanup-"+rand.Text(), time.Now().Add(expireAfter).UTC()
	if err := store.write(ctx, &c, version); err != nil {
		if _, class := database.Classify(err); class == database.ClassSpaceExceeded {
			return nil, errFull
		}
		return nil, fmt.Errorf("claim the prefix %s: %w", store.target.Prefix, err)
	}
	return hold(ctx, store, c), nil
}

// unchanged returns the version of the claim, and an error if it is not the claim that was found.
func unchanged(ctx context.Context, store *claimStore, l Left) (version int64, err error) {
	now, version, err := store.read(ctx)
	switch {
	case err != nil:
		return version, fmt.Errorf("read the claim of the prefix %s: %w", store.target.Prefix, err)
	case now == nil && l.Claimed:
		return version, fmt.Errorf("the claim of the prefix %s was removed since its keys were found", store.target.Prefix)
	case now != nil && !(l.Claimed && reflect.DeepEqual(*now, l.Claim)):
		return version, fmt.Errorf("the prefix %s was used since its keys were found: %s", store.target.Prefix, describe(now))
	}
	return version, nil
}

// cleanFull removes keys from a full store, and then the claim that was found, if it is still
// there.
func cleanFull(ctx context.Context, store *claimStore, l Left, say func(format string, args ...any)) (done results.Cleanup, left int64) {
	done, left = Clean(ctx, store.driver, store.target, l.Which, say)
	var err error
	if left == 0 && l.Claimed {
		if _, err = unchanged(ctx, store, l); err == nil {
			err = store.remove(ctx)
		}
	}
	if err = errors.Join(err, store.close()); err != nil && done.Error == "" {
		done.Error = fmt.Sprintf("remove the claim: %v", err)
	}
	return done, left
}
