// Package shared defines how loads behave on clusters shared with others: they keep below a prefix,
// and remove their keys in bounded batches.
package shared

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Claimant is a run that wants to use a prefix.
type Claimant struct {
	Run, Owner string
	// Reuse allows keys below the prefix that do not belong to earlier runs by the owner.
	Reuse bool
	// Keys are the keys that the run may write before more are known.
	Keys workload.KeySpans
}

// Claims are renewed long before they expire.
const (
	expireAfter = 30 * time.Second
	renewEach   = 5 * time.Second
)

// Hold is a claim that is renewed until it ends. Its methods are safe for concurrent use.
type Hold struct {
	store *claimStore // its calls are under mu
	end   context.CancelFunc
	done  chan struct{}

	// held ends when this run loses the claim. Its cause is the reason.
	held context.Context
	lose context.CancelCauseFunc

	mu    sync.Mutex
	claim Claim
}

// Take claims the target prefix. It refuses a prefix used by another run, and keys that do not
// belong to earlier runs by the owner, unless they may be reused. say is called with checks that
// could not be made.
func Take(ctx context.Context, driver database.Driver, t database.Target, who Claimant, say func(format string, args ...any)) (h *Hold, err error) {
	if err := checkAbove(ctx, driver, t, who, say); err != nil {
		return nil, err
	}
	store := &claimStore{driver: driver, target: t}
	defer func() {
		if h == nil {
			err = errors.Join(err, store.close())
		}
	}()
	earlier, version, err := store.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the claim of the prefix %s: %w", t.Prefix, err)
	}
	now := time.Now()
	c := Claim{Run: who.Run, Owner: who.Owner, Expires: now.Add(expireAfter).UTC(), Runs: []string{who.Run}, Keys: who.Keys.Add()}
	switch {
	case earlier == nil:
	case earlier.Live(now) && earlier.Run != who.Run:
		return nil, fmt.Errorf("another run uses the prefix %s: %s", t.Prefix, describe(earlier))
	case earlier.Owner == who.Owner:
		c.join(earlier)
	case !who.Reuse:
		return nil, fmt.Errorf("keys below the prefix %s are of others: %s; %s", t.Prefix, describe(earlier), reuseHint)
	}
	if err := checkForeign(ctx, store, earlier, &c, who, say); err != nil {
		return nil, err
	}
	if err := store.write(ctx, &c, version); err != nil {
		return nil, fmt.Errorf("claim the prefix %s: %w", t.Prefix, err)
	}
	return hold(ctx, store, c), nil
}

// hold renews the written claim c.
func hold(ctx context.Context, store *claimStore, c Claim) *Hold {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	h := &Hold{store: store, claim: c, end: end, done: make(chan struct{})}
	h.held, h.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		defer close(h.done)
		h.keep(ctx)
	}()
	return h
}

// reuseHint explains how to allow foreign keys.
const reuseHint = "give another prefix, or reuse: true, which leaves them there and may overwrite keys with the numbers of the load"

// describe names the run in a claim, which another user may have written.
func describe(c *Claim) string {
	text := fmt.Sprintf("run %s of %s", plaintext.Line(c.Run), plaintext.Line(c.Owner))
	if !c.Expires.IsZero() {
		text += ", which has the prefix until " + c.Expires.UTC().Format(time.RFC3339)
	}
	return text
}

// checkForeign refuses keys below the prefix that the owner did not claim.
func checkForeign(ctx context.Context, store *claimStore, earlier, c *Claim, who Claimant, say func(string, ...any)) error {
	n, err := Count(ctx, store.driver, store.target)
	if err != nil {
		return fmt.Errorf("count the keys below the prefix %s: %w", store.target.Prefix, err)
	}
	known := int64(0)
	if earlier != nil {
		n -= store.counted()
		if earlier.Owner == who.Owner {
			known = earlier.Keys.Count()
		}
	}
	switch {
	case n <= known:
	case who.Reuse:
		say("%d keys below %s/ are of others, and stay", n-known, store.target.Prefix)
	default:
		return fmt.Errorf("%d keys lie below the prefix %s, and at most %d of them are of earlier runs of %s: %s", n, store.target.Prefix, known, c.Owner, reuseHint)
	}
	return nil
}

// checkAbove looks for claims to the prefixes above the prefix.
func checkAbove(ctx context.Context, driver database.Driver, t database.Target, who Claimant, say func(string, ...any)) error {
	for end := strings.LastIndexByte(t.Prefix, '/'); end > 0; end = strings.LastIndexByte(t.Prefix[:end], '/') {
		above := t
		above.Prefix = t.Prefix[:end]
		store := claimStore{driver: driver, target: above}
		c, _, err := store.read(ctx)
		err = errors.Join(err, store.close())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err != nil:
			say("whether a run uses the prefix %s above is not known: %v", above.Prefix, err)
		case c == nil, c.Run == who.Run:
		case c.Live(time.Now()):
			return fmt.Errorf("another run uses the prefix %s, which %s lies below: %s", above.Prefix, t.Prefix, describe(c))
		case c.Owner != who.Owner && !who.Reuse:
			return fmt.Errorf("the prefix %s lies below %s, where keys are of others: %s; %s", t.Prefix, above.Prefix, describe(c), reuseHint)
		}
	}
	return nil
}

// keep renews the claim until ctx ends. A failed renewal is repeated with the next.
func (h *Hold) keep(ctx context.Context) {
	ticker := time.NewTicker(renewEach)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = h.renew(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// update changes and renews the claim, which must still belong to this run.
func (h *Hold) update(ctx context.Context, change func(*Claim)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.lost(); err != nil {
		return err
	}
	c := h.claim
	c.Expires = time.Now().Add(expireAfter).UTC()
	change(&c)
	held, version, err := h.store.read(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("renew the claim of the prefix %s: %w", h.store.target.Prefix, err)
	case held == nil:
		h.lose(fmt.Errorf("the claim of the prefix %s was removed by others", h.store.target.Prefix))
		return h.lost()
	case held.Run != h.claim.Run:
		h.lose(fmt.Errorf("the claim of the prefix %s was taken over: %s", h.store.target.Prefix, describe(held)))
		return h.lost()
	}
	if err := h.store.write(ctx, &c, version); err != nil {
		return fmt.Errorf("renew the claim of the prefix %s: %w", h.store.target.Prefix, err)
	}
	h.claim = c
	return nil
}

// Cover adds keys that the run may write from now on.
func (h *Hold) Cover(ctx context.Context, keys workload.KeySpan) error {
	return h.update(ctx, func(c *Claim) { c.Keys = c.Keys.Add(keys) })
}

// Narrow removes keys from the claim that the run certainly did not write. The next renewal, or the
// end of the claim, stores them.
func (h *Hold) Narrow(change func(workload.KeySpans) workload.KeySpans) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claim.Keys = change(h.claim.Keys).Add()
}

// renew renews the claim, which must still belong to this run.
func (h *Hold) renew(ctx context.Context) error { return h.update(ctx, func(*Claim) {}) }

// lost returns why this run has lost the claim, nil if it has not.
func (h *Hold) lost() error { return context.Cause(h.held) }

// End stops the renewal and releases the prefix: from then on another run may have it. The claim
// stays for the remaining keys.
func (h *Hold) End(ctx context.Context) error {
	h.stop()
	err := h.update(ctx, func(c *Claim) { c.Expires = time.Time{} })
	return errors.Join(err, h.disconnect())
}

// Remove stops the renewal and removes the claim, if this run still has it: no keys are left.
func (h *Hold) Remove(ctx context.Context) error {
	h.stop()
	// No other run may replace the claim before it expires again.
	if err := h.renew(ctx); err != nil {
		return errors.Join(err, h.disconnect())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lose(errors.New("the claim was removed"))
	return errors.Join(h.store.remove(ctx), h.store.close())
}

func (h *Hold) disconnect() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.store.close()
}

// Count returns the number of keys below the prefix, including foreign keys, -1 if not known.
func (h *Hold) Count(ctx context.Context) (int64, error) {
	n, err := Count(ctx, h.store.driver, h.store.target)
	if n > 0 {
		n = max(n-h.store.counted(), 0)
	}
	return n, err
}

// CleanHeld removes the keys of a claim, and then the claim, or ends it if keys are left. Until
// then the claim is renewed, so that no other run can have the prefix. left is 0, or -1 if not
// known. It reports remaining foreign keys.
func CleanHeld(ctx context.Context, h *Hold, say func(format string, args ...any)) (done results.Cleanup, left int64) {
	h.mu.Lock()
	which := database.Removable{Numbers: h.claim.Keys}
	h.mu.Unlock()
	return h.cleanUp(ctx, which, h.End, say)
}

// cleanUp removes keys, and then the claim, or gives it up if keys are left, also after ctx has ended.
func (h *Hold) cleanUp(ctx context.Context, which database.Removable, giveUp func(context.Context) error, say func(format string, args ...any)) (done results.Cleanup, left int64) {
	if err := h.renew(ctx); err != nil && h.lost() == nil {
		say("%v", err) // the next renewal may succeed
	}
	done, left = h.clean(ctx, which, say)
	if left == 0 {
		giveUp = h.Remove
		if others, err := h.Count(ctx); err == nil && others > 0 {
			say("%d keys below %s/ are of others, and stay", others, h.store.target.Prefix)
		}
	}
	switch err := giveUp(context.WithoutCancel(ctx)); {
	case err == nil:
	case done.Error == "":
		done.Error = err.Error()
	case h.lost() == nil:
		say("give the prefix %s free: %v", h.store.target.Prefix, err)
	}
	return done, left
}

// clean removes keys for as long as this run has the claim.
func (h *Hold) clean(ctx context.Context, which database.Removable, say func(format string, args ...any)) (done results.Cleanup, left int64) {
	if err := h.lost(); err != nil {
		return results.Cleanup{Error: err.Error()}, -1
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.held, func() { cancel(h.lost()) })()
	return Clean(ctx, h.store.driver, h.store.target, which, say)
}

func (h *Hold) stop() {
	h.end()
	<-h.done
}
