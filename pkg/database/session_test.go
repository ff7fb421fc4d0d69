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
		var ends []Gone
		err := WatchList(ctx, 10*time.Millisecond, func(context.Context) ([]string, error) {
			time.Sleep(2 * time.Millisecond)
			if next == len(lists) {
				cancel()
				return nil, ctx.Err()
			}
			next++
			return lists[next-1], nil
		}, func() { readied++ }, func(g Gone) { ends = append(ends, g) })
		if err != nil || readied != 1 {
			t.Fatalf("the watch returned %v and was ready %d times, want no error and 1", err, readied)
		}
		slices.SortFunc(ends, func(a, b Gone) int { return slices.Compare(a.Key, b.Key) })
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
	var ends []Gone
	listed := NewListed(func() {}, func(g Gone) { ends = append(ends, g) })
	listed.Next([]string{"a", "b"}, at(1), at(2))
	listed.Unchanged(at(10))
	listed.Next([]string{"b"}, at(11), at(12))
	listed.Next(nil, at(13), at(14))
	if len(ends) != 2 || !ends[0].Since.Equal(at(10)) || !ends[0].At.Equal(at(12)) || !ends[1].Since.Equal(at(11)) || !ends[1].At.Equal(at(14)) {
		t.Errorf("keys ended as %+v, want a from 10 to 12 s, and b from 11 to 14 s", ends)
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
