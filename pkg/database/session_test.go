package database

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A key that a list lacks still existed when the previous list was requested.
func TestWatchList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		lists := [][]string{{"a", "b", "c"}, {"a", "c"}, {"a", "c"}, {"d"}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		next, readied := 0, 0
		var ends []Change
		err := WatchList(ctx, 10*time.Millisecond, func(context.Context) ([]string, error) {
			time.Sleep(2 * time.Millisecond)
			if next == len(lists) {
				cancel()
				return nil, ctx.Err()
			}
			next++
			return lists[next-1], nil
		}, func() { readied++ }, func(c Change) {
			if !c.New {
				ends = append(ends, c)
			}
		})
		if err != nil || readied != 1 {
			t.Fatalf("the watch returned %v and was ready %d times, want no error and 1", err, readied)
		}
		slices.SortFunc(ends, func(a, b Change) int { return slices.Compare(a.Key, b.Key) })
		want := []struct {
			key       string
			since, at time.Duration
		}{{"a", 24, 38}, {"b", 0, 14}, {"c", 24, 38}}
		if len(ends) != len(want) {
			t.Fatalf("%d keys ended, want %d", len(ends), len(want))
		}
		for i, w := range want {
			since, at := ends[i].Since.Sub(start), ends[i].At.Sub(start)
			if string(ends[i].Key) != w.key || since != w.since*time.Millisecond || at != w.at*time.Millisecond {
				t.Errorf("%s was there at %v and gone at %v, want %s, %d ms and %d ms", ends[i].Key, since, at, w.key, w.since, w.at)
			}
		}
	})
}

// A key that a list lacks existed until a time that is known otherwise.
func TestUnchanged(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	var ends []Change
	listed := NewListed(func() {}, func(c Change) { ends = append(ends, c) })
	listed.Next([]string{"a", "b"}, at(1), at(2))
	listed.Unchanged(at(10))
	listed.Next([]string{"b"}, at(11), at(12))
	listed.Next(nil, at(13), at(14))
	if len(ends) != 2 || !ends[0].Since.Equal(at(10)) || !ends[0].At.Equal(at(12)) || !ends[1].Since.Equal(at(11)) || !ends[1].At.Equal(at(14)) {
		t.Errorf("keys ended as %+v, want a from 10 to 12 s, and b from 11 to 14 s", ends)
	}
}

// A key that a list has and the one before had not is new, except in the first list. It is reported
// after the ends that the list shows.
func TestListedNew(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	var changes []Change
	listed := NewListed(func() {}, func(c Change) { changes = append(changes, c) })
	listed.Next([]string{"a"}, at(1), at(2))
	listed.Next([]string{"b"}, at(3), at(4))
	if len(changes) != 2 || string(changes[0].Key) != "a" || changes[0].New || string(changes[1].Key) != "b" || !changes[1].New ||
		!changes[1].Since.Equal(at(1)) || !changes[1].At.Equal(at(4)) {
		t.Errorf("the changes are %+v, want the end of a and then the new key b, from 1 to 4 s", changes)
	}
}

// Members grant TTLs within bounds, in steps.
func TestGranted(t *testing.T) {
	facts := SessionFacts{Least: 4 * time.Second, Most: 40 * time.Second, Step: time.Second}
	for asked, want := range map[time.Duration]time.Duration{
		time.Second: 4 * time.Second, 4500 * time.Millisecond: 5 * time.Second, 40 * time.Second: 40 * time.Second, time.Hour: 40 * time.Second,
	} {
		if got := facts.Granted(asked); got != want {
			t.Errorf("a TTL of %v is granted if %v is asked for, want %v", got, asked, want)
		}
	}
}

// The longest TTL for a promise follows from the rule.
func TestLongestTTL(t *testing.T) {
	facts := func(least, most, step time.Duration, factor int64, more time.Duration) SessionFacts {
		return SessionFacts{Least: least, Most: most, Step: step, Ends: func(ttl time.Duration, n int) (time.Duration, time.Duration) {
			return ttl, ttl*time.Duration(factor) + more + time.Duration(n)*time.Millisecond
		}}
	}
	seconds := facts(2*time.Second, 0, time.Second, 1, 499*time.Millisecond)
	ticks := facts(4*time.Second, 40*time.Second, time.Millisecond, 1, 3*time.Second-time.Millisecond)
	twice := facts(10*time.Second, 24*time.Hour, time.Millisecond, 2, -time.Millisecond)
	for _, c := range []struct {
		name         string
		facts        SessionFacts
		within, want time.Duration
		kept         bool
	}{
		{"whole seconds", seconds, 20 * time.Second, 19 * time.Second, true},
		{"whole seconds, exactly", seconds, 19500 * time.Millisecond, 19 * time.Second, true},
		{"ticks", ticks, 20 * time.Second, 17 * time.Second, true},
		{"no longer one is granted", ticks, time.Hour, 40 * time.Second, true},
		{"twice the TTL", twice, 20 * time.Second, 10 * time.Second, true},
		{"twice the TTL, for less", twice, 15 * time.Second, 10 * time.Second, false},
		{"none at all", seconds, time.Millisecond, 2 * time.Second, false},
	} {
		if got, kept := c.facts.LongestTTL(c.within); got != c.want || kept != c.kept {
			t.Errorf("%s: %v, %v for %v; want %v, %v", c.name, got, kept, c.within, c.want, c.kept)
		}
	}
}
