package etcd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/coordination/watch"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	loading "github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// writing writes load keys from several clients until ctx ends, and returns the requests. It also
// reports whether a request failed because the leader changed.
func writing(ctx context.Context, t *testing.T, c *databasetest.Cluster, l *workload.Load) (ended []loading.Ended, elected bool) {
	var next atomic.Int64
	var elections atomic.Bool
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		client := dialBy(t, database.Lean, c.Target())
		all.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				e := loading.Ended{Number: n, Key: n % l.Keys, Expected: -1, Version: -1, Change: -1}
				value := make([]byte, l.ValueSize)
				binary.LittleEndian.PutUint64(value, uint64(n))
				e.Sent = time.Now().UnixNano()
				err := client.Put(context.WithoutCancel(ctx), requests.AppendKey(nil, l, e.Key), value)
				e.Due, e.End = e.Sent, time.Now().UnixNano()
				e.Outcome = workload.OK
				if _, class := database.Classify(err); class == database.ClassLeaderChange {
					elections.Store(true)
					return
				}
				if err != nil {
					t.Errorf("put: %v", err)
					return
				}
				mu.Lock()
				ended = append(ended, e)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return ended, elections.Load()
}

// Among four watchers on three members one reads nothing for a second: all get every write, and the
// record of how it caught up holds together. The test is repeated if a busy machine spoils it.
func TestWatchCatchUp(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := databasetest.Start(t, databasetest.Suite{
		Database: Database(), Options: "{unsafe_no_fsync: true, log_level: error}", Addrs: []string{"127.0.2.63", "127.0.2.64", "127.0.2.65"},
	}, 3)
	for attempt := 1; ; attempt++ {
		spoiled := catchUpOnce(t, c)
		if spoiled == "" {
			return
		}
		if attempt == 10 {
			t.Fatalf("%d of %d attempts were spoiled: %s", attempt, attempt, spoiled)
		}
		t.Logf("attempt %d: %s", attempt, spoiled)
	}
}

// catchUpOnce returns how the machine spoiled the test, if it did.
func catchUpOnce(t *testing.T, c *databasetest.Cluster) (spoiled string) {
	const n, pause = 4, time.Second
	var l workload.Load
	l.Operation, l.Keys, l.KeySize, l.ValueSize, l.Duration = workload.OpUpdate, 50, 16, 1024, 4*time.Second
	driver := c.Driver().(*Options)
	w := watch.New(watch.Options{
		Dial: func(ctx context.Context, i int, to database.Receiver) (database.Watches, error) {
			target := c.Target()
			target.Prefer = i % len(target.Endpoints)
			return driver.DialWatches(ctx, target, database.WatchStream, to)
		},
		Facts: driver.WatchFacts()[0], Load: &l, Workers: n, Began: func(time.Time, int) {}, Write: func([]observation.Second) error { return nil },
		Plan: watchers.Plan{Watchers: []int{n}, Connections: n, Of: watchers.All, Slow: watchers.Slow{Share: 1, Pause: pause}},
	})
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	latest := time.Now().Add(l.Duration - pause) // for the slow part to begin
	ctx, end := context.WithTimeout(t.Context(), l.Duration)
	defer end()
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	ended, elected := writing(ctx, t, c, &l)
	err := errors.Join(<-ran, w.Observe(ended, 0), w.Observe(nil, time.Now().UnixNano()), w.End(t.Context()))
	if elected {
		return fmt.Sprintf("the leader changed (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	o, writes := w.Outcome(), int64(len(ended))
	if want := (watchers.Counts{Writes: writes, Delivered: n * writes}); o.Counts != want || writes == 0 || o.Broken+o.BehindWhy+o.SlowWhy != "" {
		t.Fatalf("counts %+v, want %+v; broken %q, behind %q, slow %q, witnesses %+v", o.Counts, want, o.Broken, o.BehindWhy, o.SlowWhy, o.Witnesses)
	}
	is := o.Stages[0].Slow
	if is == nil || is.Start.After(latest) {
		return "the slow part began too late or not at all"
	}
	if len(is.Each) != 1 || is.Watchers != 1 || is.Length < time.Second {
		t.Fatalf("the slow part is %+v, want one connection with a watcher that read nothing for a second", is)
	}
	one, released := is.Each[0], is.Start.Add(is.Length)
	if one.Ended || one.Took <= 0 || is.Waited < one.Took || one.CaughtUp != (is.CaughtUp == 1) || !one.BehindSince.Before(released) {
		t.Errorf("it caught up as %+v, in %+v", one, is)
	}
	if one.Changes < 0 || one.Changes > float64(writes) || is.Written < 0 || is.Written > float64(writes) {
		t.Errorf("%g changes came to it while %g were written, of %d in all", one.Changes, is.Written, writes)
	}
	if one.CaughtUp && len(is.Rates()) != 1 {
		t.Errorf("the rates are %v, want one", is.Rates())
	}
	return ""
}
