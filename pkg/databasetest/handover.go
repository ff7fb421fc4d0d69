package databasetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// BenchmarkHandOvers reports for each recipe the time from the request to release a lock until the
// other contender holds it, in milliseconds: the median and the 99th percentile over all turns in
// the benchmark. Each turn lasts 1 ms.
func BenchmarkHandOvers(b *testing.B, s Suite) {
	b.Helper()
	c := Start(b, s, 3)
	for _, recipe := range database.LockFactsOf(s.Database.Info, c.driver).Recipes {
		b.Run(recipe.Name, func(b *testing.B) {
			took := c.handOvers(b, recipe.Name, b.N)
			if len(took) == 0 {
				return
			}
			slices.Sort(took)
			for _, percent := range []int{50, 99} {
				b.ReportMetric(float64(took[(len(took)-1)*percent/100])/float64(time.Millisecond), fmt.Sprintf("p%d-ms", percent))
			}
		})
	}
}

// handOvers makes two contenders take turns, and returns how long each hand-over took.
func (c *Cluster) handOvers(b *testing.B, recipe string, turns int) (took []time.Duration) {
	b.Helper()
	locks, err := c.driver.(database.LockDialer).DialLocks(b.Context(), c.Target(), database.LockOptions{Recipe: recipe, TTL: time.Minute})
	if err != nil {
		b.Fatalf("dial locks: %v", err)
	}
	const hold = time.Millisecond
	var mu sync.Mutex
	var released time.Time // when the last release was sent
	last, over := -1, 0
	var all sync.WaitGroup
	for i := range 2 {
		one, err := locks.Contender(b.Context())
		if err != nil {
			b.Fatalf("make a contender: %v", err)
		}
		all.Go(func() {
			defer func() { _ = one.Close(context.Background()) }()
			for more := true; more; {
				held, err := one.Acquire(b.Context(), []byte("lock"), nil)
				if err != nil {
					b.Errorf("acquire: %v", err)
					return
				}
				time.Sleep(hold)
				mu.Lock()
				if last >= 0 && last != i {
					took = append(took, held.At.Sub(released))
				}
				last, released, over = i, time.Now(), over+1
				more = over < turns
				mu.Unlock()
				if err := one.Release(b.Context()); err != nil {
					b.Errorf("release: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := locks.Close(); err != nil {
		b.Errorf("close locks: %v", err)
	}
	return took
}
