package shared

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// claims is a driver that keeps claims and a number of keys in memory.
type claims struct {
	database.Driver // nil: nothing else is called
	mu              sync.Mutex
	held            map[string]string
	versions        map[string]int64
	keys            int64
	denied          string // a prefix whose claim may not be read
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
		if err := second.End(t.Context(), func(k workload.KeySpans) workload.KeySpans { return k }); err != nil {
			t.Errorf("end the claim: %v", err)
		}
		if len(said) > 0 {
			t.Errorf("nothing was unknown, said %q", said)
		}
	})
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

// Whatever others wrote as a claim is an error, and causes no panic or large memory use.
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
