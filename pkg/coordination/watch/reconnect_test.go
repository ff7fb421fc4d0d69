package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// Watchers continue over each new connection where they were, whatever events are matched by and in
// whatever parts the keys are watched: nothing is lost or comes again. A lie that a new connection
// does not take back is found, and nothing else.
func TestReconnect(t *testing.T) {
	slowtest.Skip(t)
	for _, facts := range []database.WatchFacts{stream1, byVersion} {
		for _, of := range []watchers.Of{watchers.All, watchers.Key, "50%"} {
			for _, lie := range append(deliver.Lies(), deliver.Honest) {
				t.Run(fmt.Sprintf("%s %s %s", facts.Kind, of, cmp.Or(string(lie), "honest")), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						// Writes take 550 us each and end at 3.9 s, and three connections are
						// opened again in each second.
						const n, w, delay, conns, times = 7_000, 8, 5 * time.Millisecond, 3, 4
						r := newRig(t, deliver.Law{Delay: delay, Lie: lie, Every: 997}, facts, watchers.Plan{Watchers: []int{w}, Of: of, Reconnect: time.Second})
						r.load.Duration = times * time.Second
						o := r.run(n)
						deliveries := int64(n * w)
						if of != watchers.All { // watchers have the keys evenly
							deliveries /= r.watching.judge.ranges.several
						}
						c, lied := o.Counts, int64(len(r.hub.Lied()))
						if want := (watchers.Counts{Writes: n, Delivered: deliveries - c.Lost, Lost: c.Lost, Duplicate: c.Duplicate, Reordered: c.Reordered}); c != want {
							t.Fatalf("counts %+v, want %+v", c, want)
						}
						faults := map[deliver.Lie]int64{deliver.Lose: c.Lost, deliver.Double: c.Duplicate, deliver.Swap: c.Reordered}
						for is, count := range faults {
							if is == lie && (count == 0 || count > lied) || is != lie && count > 0 {
								t.Errorf("counts %+v with %d lies %q", c, lied, lie)
							}
						}
						for _, one := range o.Witnesses {
							if !slices.ContainsFunc(r.hub.Lied(), func(d deliver.Delivery) bool { return d.Watcher == one.Watcher && d.Version == one.Version }) {
								t.Errorf("nobody lied about version %d to watcher %d", one.Version, one.Watcher)
							}
						}
						is := o.Stages[0].Reconnects
						// The very last time would be at the end of the stage.
						if is == nil || is.Connections != times*conns-1 || is.Watchers < (times-1)*w || is.Failed > 0 || o.Broken+o.GapWhy != "" {
							t.Fatalf("the connections were opened again as %+v, broken %q, gap %q; want each %d times, the last one once less", is, o.Broken, o.GapWhy, times)
						}
						// A mark goes through the store after the delay, and so do the next writes.
						if is.CaughtUp == nil || is.CaughtUp.N != int64(is.Connections) || is.CaughtUp.Max > int64(delay)*101/100 || is.CaughtUp.P50 < int64(delay)*99/100 {
							t.Errorf("caught up %+v, want each after %v", is.CaughtUp, delay)
						}
						if is.First == nil || is.First.N < (times-1)*conns || is.First.N > int64(is.Connections) || is.First.Max < is.First.P50 {
							t.Errorf("the first events came %+v, want one for each connection", is.First)
						}
						totals := watchers.Observed().Total(r.seconds)
						if totals[watchers.ValueCaughtUp].N != is.CaughtUp.N || totals[watchers.ValueFirst].N != is.First.N {
							t.Errorf("by second: %+v, want %d and %d times", totals, is.CaughtUp.N, is.First.N)
						}
					})
				})
			}
		}
	}
}

// Watches that coalesce continue as well.
func TestReconnectCoalescing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		facts := database.WatchFacts{Kind: database.WatchBlocking, Ordered: true, Coalesces: true, Values: true, Ranges: true, Conns: true}
		const n, w = 5_000, 8
		r := newRig(t, deliver.Law{}, facts, watchers.Plan{Watchers: []int{w}, Of: watchers.All, Reconnect: time.Second})
		r.load.Duration = 3 * time.Second
		r.blocking = newBlocking(3 * time.Millisecond)
		o := r.run(n)
		c := o.Counts
		if c.Lost+c.Duplicate+c.Reordered+c.Behind+c.Foreign+c.Unjudged > 0 || c.Writes != n || c.Delivered+c.Coalesced != n*w {
			t.Fatalf("counts %+v, want %d deliveries", c, n*w)
		}
		if is := o.Stages[0].Reconnects; is == nil || is.Connections != 3*w-1 || is.Failed > 0 {
			t.Errorf("the connections were opened again as %+v", is)
		}
	})
}

// Slow connections stay, stages have their own numbers, and watchers that are added while their
// connection is closed wait for the new one.
func TestReconnectStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{Delay: 2 * time.Millisecond}, stream1, watchers.Plan{
			Watchers: []int{0, 4, 12}, Of: watchers.All, Slow: watchers.Slow{Share: 40, Pause: time.Second}, Reconnect: time.Second,
		})
		r.dialing = func(ctx context.Context) error { time.Sleep(400 * time.Millisecond); return nil }
		o := r.run(18_000)
		if c := o.Counts; c.Lost+c.Duplicate+c.Reordered+c.Behind+c.Unjudged+c.Foreign+c.Gaps > 0 || o.Broken != "" {
			t.Fatalf("counts %+v, broken %q", c, o.Broken)
		}
		if o.Stages[0].Reconnects != nil || o.Stages[1].Reconnects == nil || o.Stages[2].Reconnects == nil {
			t.Fatalf("the stages are %+v", o.Stages)
		}
		// Two of three connections are not slow, and a stage lasts for a third of 10 s.
		for _, s := range o.Stages[1:] {
			if is := s.Reconnects; is.Connections < 5 || is.Connections > 7 || s.Slow == nil || s.Slow.CaughtUp != 1 {
				t.Errorf("%d watchers: opened again as %+v, slow %+v", s.Watchers, is, s.Slow)
			}
		}
	})
}

// Events that the store discards while a connection is closed are lost if they are from this load,
// and the gap is named. Without writes in it there is a gap and no loss.
func TestReconnectGap(t *testing.T) {
	for _, missed := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d writes", missed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{2}, Connections: 2, Of: watchers.All, Reconnect: 5 * time.Second})
				ctx := t.Context()
				if err := r.watching.Prepare(ctx); err != nil {
					t.Fatal(err)
				}
				r.write(workload.OK, true)
				synctest.Wait()
				once := false
				r.dialing = func(context.Context) error {
					if !once {
						once = true
						for range missed {
							r.write(workload.OK, true)
						}
						if missed == 0 { // by another writer
							r.version++
							r.hub.Publish(deliver.Change{Key: []byte("other"), Version: r.version}, time.Now())
						}
						r.hub.Discard()
						return errors.New("no member answers") // the next one does
					}
					return nil
				}
				var running sync.WaitGroup
				running.Go(func() {
					if err := r.watching.Run(ctx); err != nil {
						t.Error(err)
					}
				})
				running.Wait()
				r.write(workload.OK, true)
				time.Sleep(time.Second)
				r.observed()
				r.end(ctx)
				o := r.watching.Outcome()
				lost := int64(missed) // by one watcher
				want := watchers.Counts{Writes: lost + 2, Delivered: lost + 4, Lost: lost, Gaps: 1}
				if missed == 0 {
					want.Foreign = 1 // as the other watcher received it
				}
				if o.Counts != want || o.GapWhy == "" || o.Broken != "" {
					t.Errorf("counts %+v, gap %q, broken %q; want %+v", o.Counts, o.GapWhy, o.Broken, want)
				}
			})
		})
	}
}

// A connection that cannot be opened again has ended, and the events that its watchers miss are
// not lost.
func TestReconnectFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{3}, Of: watchers.All, Reconnect: 5 * time.Second})
		ctx := t.Context()
		if err := r.watching.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		r.dialing = func(context.Context) error { return errors.New("no member answers") }
		if err := r.watching.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if err := r.watching.addOne(ctx, 3); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("a watcher more on a connection that has ended: %v", err)
		}
		r.write(workload.OK, true)
		time.Sleep(time.Second)
		r.observed()
		r.end(ctx)
		o := r.watching.Outcome()
		if want := (watchers.Counts{Writes: 1}); o.Counts != want || o.Broken == "" || o.Stages[0].Reconnects.Failed != 3 || o.Stages[0].Reconnects.Connections != 0 {
			t.Errorf("counts %+v, broken %q, opened again as %+v; want %+v", o.Counts, o.Broken, o.Stages[0].Reconnects, want)
		}
	})
}
