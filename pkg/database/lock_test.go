package database

import (
	"slices"
	"testing"
	"time"
)

func lockFacts() LockFacts {
	return LockFacts{
		Recipes: []LockRecipe{{Name: LockLibrary, Library: "go.etcd.io/etcd/client/v3/concurrency", Retry: 5 * time.Second}, {Name: LockDirect}},
		Session: SessionFacts{Least: 10 * time.Second, Step: time.Second, Ends: func(ttl time.Duration, _ int) (earliest, latest time.Duration) {
			return 2 * ttl, 2*ttl + time.Second
		}},
		Renews: func(ttl time.Duration) time.Duration { return ttl / 2 },
	}
}

// A dead holder's lock passes when its session ends and the delay, if any, is over. The last
// renewal may be one renewal interval old.
func TestPasses(t *testing.T) {
	facts := lockFacts()
	for _, tt := range []struct {
		recipe           int
		options          LockOptions
		earliest, latest time.Duration
	}{
		{0, LockOptions{}, 15 * time.Second, 21 * time.Second},
		{0, LockOptions{TTL: 20 * time.Second}, 30 * time.Second, 41 * time.Second},
		{0, LockOptions{Delay: 15 * time.Second}, 30 * time.Second, 41 * time.Second},
		{1, LockOptions{Delay: 15 * time.Second}, 30 * time.Second, 36 * time.Second},
	} {
		earliest, latest := facts.Passes(facts.Recipes[tt.recipe], tt.options)
		if earliest != tt.earliest || latest != tt.latest {
			t.Errorf("by recipe %d with %+v it passes after %v to %v, want %v to %v", tt.recipe, tt.options, earliest, latest, tt.earliest, tt.latest)
		}
	}
}

// Recipes are found by their names, and the first is the default.
func TestRecipe(t *testing.T) {
	facts := lockFacts()
	for name, want := range map[string]string{"": LockLibrary, LockDirect: LockDirect} {
		if r, err := facts.Recipe(name); err != nil || r.Name != want {
			t.Errorf("recipe %q is %q (%v), want %q", name, r.Name, err, want)
		}
	}
	if _, err := facts.Recipe("lottery"); err == nil {
		t.Error("an unknown recipe must be an error")
	}
	if got := facts.Names(); !slices.Equal(got, []string{LockLibrary, LockDirect}) {
		t.Errorf("the names are %q", got)
	}
	if by := facts.Recipes[1].By(); by != "dbtester" {
		t.Errorf("a recipe without a library is by %q, want dbtester", by)
	}
}
