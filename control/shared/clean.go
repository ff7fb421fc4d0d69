package shared

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// batchTimeout bounds the wait for one cleanup batch, or one count.
const batchTimeout = 60 * time.Second

// rounds is the number of times that keys are removed: a request whose outcome is unknown may
// create its key after the first round.
const rounds = 4

// Clean removes keys below the target prefix until a round finds no more. left is then 0, else -1:
// not known. It reports progress every few seconds. It ends with ctx, or when a batch takes a
// minute.
func Clean(ctx context.Context, driver database.Driver, t database.Target, which database.Removable, say func(format string, args ...any)) (done results.Cleanup, left int64) {
	began := time.Now()
	left = -1
	var err error
	for round := 0; round < rounds && err == nil && left < 0; round++ {
		var n int64
		n, err = cleanOnce(ctx, driver, t, which, func(n int64) { say("removed %d keys below %s", done.Removed+n, t.Prefix) })
		done.Removed += n
		if err == nil && n == 0 {
			left = 0
		}
	}
	if err == nil && left < 0 {
		err = errors.New("something writes such keys all the time")
	}
	done.Took = time.Since(began)
	if err != nil {
		done.Error = err.Error()
	}
	return done, left
}

// sayEvery is the time between two lines about a cleanup.
const sayEvery = 5 * time.Second

func cleanOnce(ctx context.Context, driver database.Driver, t database.Target, which database.Removable, say func(int64)) (n int64, err error) {
	cleaner, ok := driver.(database.Cleaner)
	if !ok {
		return 0, errors.New("the driver cannot remove keys")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(batchTimeout, func() { cancel(fmt.Errorf("no batch ended within %v", batchTimeout)) })
	defer stalled.Stop()
	said := time.Now()
	err = cleaner.Clean(ctx, t, which, func(removed int64) {
		n = removed
		stalled.Reset(batchTimeout)
		if time.Since(said) >= sayEvery {
			said = time.Now()
			say(n)
		}
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = errors.Join(cause, err)
	}
	return n, err
}

// Count returns the number of keys below the target prefix, -1 if that is not known.
func Count(ctx context.Context, driver database.Driver, t database.Target) (int64, error) {
	counter, ok := driver.(database.Counter)
	if !ok {
		return -1, nil
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	n, err := counter.CountKeys(ctx, t)
	if err != nil {
		return -1, err
	}
	return n, nil
}
