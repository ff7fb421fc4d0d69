package shared

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// claims keeps claims and a key count in memory.
type claims struct {
	database.Driver // nil: nothing else is called
	mu              sync.Mutex
	held            map[string]string
	versions        map[string]int64
	keys            int64
	denied          string // a prefix whose claim may not be read
	full            bool   // claims cannot be written
}

func newClaims() *claims { return &claims{held: map[string]string{}, versions: map[string]int64{}} }

func (c *claims) Claim(_ context.Context, t database.Target) ([]byte, int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.Prefix == c.denied {
		return nil, 0, database.NotApplied(database.ClassDenied, errors.New("no permission"))
	}
	return []byte(c.held[t.Prefix]), c.versions[t.Prefix], nil
}

func (c *claims) SetClaim(_ context.Context, t database.Target, text []byte, version int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full {
		return database.NotApplied(database.ClassSpaceExceeded, errors.New("no space"))
	}
	if c.versions[t.Prefix] != version {
		return database.NotApplied(database.ClassConflict, errors.New("another version"))
	}
	c.held[t.Prefix], c.versions[t.Prefix] = string(text), version+1
	return nil
}

func (c *claims) RemoveClaim(_ context.Context, t database.Target) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, t.Prefix)
	delete(c.versions, t.Prefix)
	return nil
}

func (c *claims) CountKeys(context.Context, database.Target) (int64, error) { return c.keys, nil }

// A run keeps its prefix while it renews the claim, and another run takes it over after the claim
// has expired.
func TestClaimExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := newClaims()
		var said []string
		say := func(format string, _ ...any) { said = append(said, format) }
		target := database.Target{Prefix: "a/b"}
		first, err := Take(t.Context(), driver, target, Claimant{Run: "1", Owner: "ann"}, say)
		if err != nil {
			t.Fatalf("take the prefix: %v", err)
		}
		time.Sleep(10 * expireAfter) // renewed meanwhile
		for _, prefix := range []string{"a/b", "a/b/c"} {
			if _, err := Take(t.Context(), driver, database.Target{Prefix: prefix}, Claimant{Run: "2", Owner: "ann", Reuse: true}, say); err == nil || !strings.Contains(err.Error(), "run 1 of ann") {
				t.Errorf("%s is in use: want a refusal that names the run, got %v", prefix, err)
			}
		}
		first.stop() // as if it were killed
		time.Sleep(expireAfter + time.Second)
		if _, err := Take(t.Context(), driver, target, Claimant{Run: "2", Owner: "bob"}, say); err == nil || !strings.Contains(err.Error(), "reuse: true") {
			t.Errorf("keys of others: want a refusal, got %v", err)
		}
		second, err := Take(t.Context(), driver, target, Claimant{Run: "2", Owner: "ann", Keys: workload.KeySpans{{Size: 8, First: 0, End: 5}}}, say)
		if err != nil {
			t.Fatalf("take an expired prefix: %v", err)
		}
		if err := first.Cover(t.Context(), workload.KeySpan{Size: 8, First: 5, End: 9}); err == nil || !strings.Contains(err.Error(), "run 2 of ann") {
			t.Errorf("a claim that was taken over: want its owner, got %v", err)
		}
		if _, left := CleanHeld(t.Context(), first, say); left != -1 {
			t.Errorf("a run without its claim removes keys: %d are left", left)
		}
		if err := second.End(t.Context()); err != nil {
			t.Errorf("end the claim: %v", err)
		}
		if len(said) > 0 {
			t.Errorf("nothing was unknown, said %q", said)
		}
	})
}

// cleaning is a driver that removes keys by a function.
type cleaning struct {
	*claims
	clean func(ctx context.Context, removed func(int64)) error
}

func (c *cleaning) Clean(ctx context.Context, _ database.Target, _ database.Removable, removed func(int64)) error {
	return c.clean(ctx, removed)
}

// heldBy fails the test unless the claim of run is stored.
func (c *cleaning) heldBy(t *testing.T, target database.Target, run string) {
	t.Helper()
	text, _, err := c.Claim(t.Context(), target)
	if err != nil {
		t.Fatalf("read the claim: %v", err)
	}
	if claim, err := decodeClaim(text); err != nil || claim.Run != run {
		t.Errorf("the claim is %q, %v, want that of run %s", text, err, run)
	}
}

// As long as a run removes its keys, no other run has the prefix.
func TestCleanKeepsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, target := &cleaning{claims: newClaims()}, database.Target{Prefix: "a/b"}
		first, err := Take(t.Context(), driver, target, Claimant{Run: "1", Owner: "ann", Keys: workload.KeySpans{{Size: 8, First: 0, End: 5}}}, t.Logf)
		if err != nil {
			t.Fatalf("take the prefix: %v", err)
		}
		left := int64(5)
		driver.clean = func(_ context.Context, removed func(int64)) error {
			for n := int64(1); left > 0; n++ {
				time.Sleep(expireAfter)
				if _, err := Take(t.Context(), driver, target, Claimant{Run: "2", Owner: "ann"}, t.Logf); err == nil || !strings.Contains(err.Error(), "run 1 of ann") {
					t.Errorf("run 1 still removes keys: want a refusal that names it, got %v", err)
				}
				left--
				removed(n)
			}
			return nil
		}
		if done, left := CleanHeld(t.Context(), first, t.Logf); done.Removed != 5 || done.Error != "" || left != 0 {
			t.Errorf("removed %+v, %d left, want 5 and none left", done, left)
		}
		second, err := Take(t.Context(), driver, target, Claimant{Run: "2", Owner: "ann"}, t.Logf)
		if err != nil {
			t.Fatalf("take the prefix after the cleanup: %v", err)
		}
		second.stop()
	})
}

// A run whose claim was taken over, because it was stopped for long, removes no more keys and not
// the other's claim.
func TestCleanOfLostClaim(t *testing.T) {
	for name, tt := range map[string]struct {
		removals int  // the last of which takes the claim over
		lasts    bool // the removal lasts until it is ended
	}{
		"before the removal": {0, false}, "during the removal": {1, true}, "at its end": {1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				driver, target := &cleaning{claims: newClaims()}, database.Target{Prefix: "a/b"}
				first, err := Take(t.Context(), driver, target, Claimant{Run: "1", Owner: "ann"}, t.Logf)
				if err != nil {
					t.Fatalf("take the prefix: %v", err)
				}
				if tt.removals == 0 {
					driver.takenOver(t, target)
				}
				removals := 0
				driver.clean = func(ctx context.Context, _ func(int64)) error {
					removals++
					driver.takenOver(t, target)
					if tt.lasts {
						<-ctx.Done()
					}
					return ctx.Err()
				}
				done, _ := CleanHeld(t.Context(), first, t.Logf)
				if !strings.Contains(done.Error, "taken over: run 2 of ann") || removals != tt.removals {
					t.Errorf("%d removals and the error %q, want %d, and an error that names the other run", removals, done.Error, tt.removals)
				}
				driver.heldBy(t, target, "2")
			})
		})
	}
}

// leftBy leaves keys and, if they are claimed, the claim of run 1, and finds them.
func (c *cleaning) leftBy(t *testing.T, target database.Target, claimed bool) Left {
	t.Helper()
	c.keys = 5
	if claimed {
		h, err := Take(t.Context(), c, target, Claimant{Run: "1", Owner: "ann", Reuse: true, Keys: workload.KeySpans{{Size: 8, First: 0, End: 5}}}, t.Logf)
		if err != nil {
			t.Fatalf("take the prefix: %v", err)
		}
		if err := h.End(t.Context()); err != nil {
			t.Fatalf("end the claim: %v", err)
		}
	}
	l, err := Find(t.Context(), c, target, "1")
	if err != nil || l.Keys != 5 || l.Claimed != claimed {
		t.Fatalf("found %+v, %v, want 5 keys", l, err)
	}
	return l
}

// As long as a cleanup removes leftovers, no run has the prefix, and another cleanup is refused.
func TestCleanLeftKeepsOthersOut(t *testing.T) {
	for name, claimed := range map[string]bool{"claimed": true, "without a claim": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				driver, target := &cleaning{claims: newClaims()}, database.Target{Prefix: "a/b"}
				left := driver.leftBy(t, target, claimed)
				left.Which.All = !claimed
				driver.clean = func(_ context.Context, removed func(int64)) error {
					for n := int64(1); driver.keys > 0; n++ {
						time.Sleep(expireAfter)
						if _, err := Take(t.Context(), driver, target, Claimant{Run: "2", Owner: "ann"}, t.Logf); err == nil || !strings.Contains(err.Error(), "run cleanup-") {
							t.Errorf("keys are still removed: want a refusal that names the cleanup, got %v", err)
						}
						if _, err := Find(t.Context(), driver, target, "1"); err == nil || !strings.Contains(err.Error(), "run cleanup-") {
							t.Errorf("keys are still removed: want a refusal of another cleanup, got %v", err)
						}
						driver.keys--
						removed(n)
					}
					return nil
				}
				if done, rest := CleanLeft(t.Context(), driver, target, left, "ann", t.Logf); done.Removed != 5 || done.Error != "" || rest != 0 {
					t.Errorf("removed %+v, %d left, want 5 and none left", done, rest)
				}
				if text, version, err := driver.Claim(t.Context(), target); err != nil || version != database.NoVersion {
					t.Errorf("after the cleanup the claim is %q, %v, want none", text, err)
				}
			})
		})
	}
}

// A cleanup removes nothing if a run has begun to use the prefix since its keys were found, or has
// used it meanwhile.
func TestCleanLeftAfterRun(t *testing.T) {
	for name, claimed := range map[string]bool{"claimed": true, "without a claim": false} {
		for _, ended := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				driver, target := &cleaning{claims: newClaims()}, database.Target{Prefix: "a/b"}
				left := driver.leftBy(t, target, claimed)
				driver.clean = func(context.Context, func(int64)) error {
					t.Errorf("%s: keys are removed although a run has the prefix", name)
					return nil
				}
				h, err := Take(t.Context(), driver, target, Claimant{Run: "2", Owner: "ann", Reuse: true}, t.Logf)
				if err != nil {
					t.Fatalf("take the prefix: %v", err)
				}
				if h.stop(); ended {
					err = h.End(t.Context())
				}
				if err != nil {
					t.Fatalf("end the claim: %v", err)
				}
				if done, rest := CleanLeft(t.Context(), driver, target, left, "ann", t.Logf); !strings.Contains(done.Error, "run 2 of ann") || rest != -1 {
					t.Errorf("%s: %+v, %d left, want an error that names the run", name, done, rest)
				}
				driver.heldBy(t, target, "2")
			})
		}
	}
}

// An interrupted cleanup gives the prefix back as it was, and one that loses the prefix ends.
func TestCleanLeftInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, target := &cleaning{claims: newClaims()}, database.Target{Prefix: "a/b"}
		left := driver.leftBy(t, target, true)
		ctx, interrupt := context.WithCancel(t.Context())
		driver.clean = func(ctx context.Context, _ func(int64)) error {
			interrupt()
			return ctx.Err()
		}
		if done, rest := CleanLeft(ctx, driver, target, left, "ann", t.Logf); done.Error == "" || rest != -1 {
			t.Errorf("interrupted: %+v, %d left, want an error and an unknown number", done, rest)
		}
		again, err := Find(t.Context(), driver, target, "1")
		if err != nil || !reflect.DeepEqual(again, left) {
			t.Errorf("after the interrupt: %+v, %v, want what was found before: %+v", again, err, left)
		}
		driver.clean = func(ctx context.Context, _ func(int64)) error {
			driver.takenOver(t, target) // as if this cleanup were stopped for long
			<-ctx.Done()
			return ctx.Err()
		}
		if done, _ := CleanLeft(t.Context(), driver, target, left, "ann", t.Logf); !strings.Contains(done.Error, "taken over: run 2 of ann") {
			t.Errorf("the claim was taken over: %+v, want an error that names the other run", done)
		}
		driver.heldBy(t, target, "2")
	})
}

// Keys in a full store, which takes no claim, are removed all the same.
func TestCleanLeftOfFullStore(t *testing.T) {
	driver, target := &cleaning{claims: newClaims()}, database.Target{Prefix: "a/b"}
	left := driver.leftBy(t, target, true)
	driver.full = true
	driver.clean = func(_ context.Context, removed func(int64)) error {
		if driver.keys > 0 {
			driver.keys = 0
			removed(5)
		}
		return nil
	}
	if done, rest := CleanLeft(t.Context(), driver, target, left, "ann", t.Logf); done.Removed != 5 || done.Error != "" || rest != 0 {
		t.Errorf("removed %+v, %d left, want 5 and none left", done, rest)
	}
	if text, version, err := driver.Claim(t.Context(), target); err != nil || version != database.NoVersion {
		t.Errorf("after the cleanup the claim is %q, %v, want none", text, err)
	}
}

// takenOver replaces the claim by one of run 2.
func (c *cleaning) takenOver(t *testing.T, target database.Target) {
	_, version, err := c.Claim(t.Context(), target)
	if err != nil {
		t.Errorf("read the claim: %v", err)
	}
	text, err := (&Claim{Run: "2", Owner: "ann", Expires: time.Now().Add(time.Hour), Runs: []string{"1", "2"}}).encode()
	if err != nil {
		t.Errorf("encode the claim: %v", err)
	}
	if err := c.SetClaim(t.Context(), target, text, version); err != nil {
		t.Errorf("take the claim over: %v", err)
	}
}

// A claim above the prefix that cannot be read is reported, and prevents nothing.
func TestClaimAboveUnknown(t *testing.T) {
	driver := newClaims()
	driver.denied = "a"
	said := ""
	h, err := Take(t.Context(), driver, database.Target{Prefix: "a/b"}, Claimant{Run: "1", Owner: "ann"}, func(format string, _ ...any) { said += format })
	if err != nil || !strings.Contains(said, "is not known") {
		t.Errorf("take the prefix: %v, said %q", err, said)
	}
	h.stop()
}

// Foreign texts in place of a claim are errors, and cause no panic or large memory use.
func TestClaimOfOthers(t *testing.T) {
	for _, text := range []string{
		"", "x", "[]", "{}", `{"run":"1"}`, `{"run":"1","owner":"a","keys":[{"key_size":-1,"first":-5,"end":9223372036854775807}]}`,
		`{"run":"\u001b[2J","owner":"\u0007","expires":"9999-12-31T00:00:00Z"}`, strings.Repeat("{", database.MaxClaim+1), strings.Repeat("[", database.MaxClaim),
	} {
		driver := newClaims()
		driver.held["p"], driver.versions["p"] = text, 7
		h, err := Take(t.Context(), driver, database.Target{Prefix: "p"}, Claimant{Run: "2", Owner: "b"}, t.Logf)
		if err == nil {
			h.stop()
			t.Errorf("a claim %.40q is taken over", text)
		} else if strings.ContainsAny(err.Error(), "\x1b\x07") {
			t.Errorf("the error of a claim has control characters: %q", err)
		}
		c, err := decodeClaim([]byte(text))
		if err == nil && c.Keys.Has([]byte("1")) {
			t.Errorf("the claim %.40q has keys of no size", text)
		}
	}
}
