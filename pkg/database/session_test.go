package database

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A key that a list lacks was still there when the list before was asked for.
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
