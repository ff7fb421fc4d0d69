package watch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// writeRate is the writes per second that the rig makes.
const writeRate = float64(time.Second) / float64(queued+answer)

// near fails if a number differs from the wanted one by more than a share of it.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if d := got - want; d < -want*within || d > want*within {
		t.Errorf("%s is %g, want %g within %g %%", what, got, want, 100*within)
	}
}

// A store that serves connections which are behind at a rate is seen to do so, whatever its delay
// and whatever events are matched by. A connection has caught up when the backlog from its pause is
// served, which grows meanwhile: after backlog / (rate - writes).
func TestCatchUp(t *testing.T) {
	slowtest.Skip(t)
	for _, facts := range []database.WatchFacts{stream1, byVersion} {
		for _, delay := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s %v", facts.Kind, delay), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const n, w, pause, served = 14_000, 12, 3 * time.Second, 5000
					r := newRig(t, deliver.Law{Delay: delay, CatchUp: served * w / 3}, facts, watchers.Plan{
						Watchers: []int{w}, Of: watchers.All, Slow: watchers.Slow{Share: 60, Pause: pause},
					})
					o := r.run(n)
					if want := (watchers.Counts{Writes: n, Delivered: n * w}); o.Counts != want {
						t.Fatalf("counts %+v, want %+v", o.Counts, want)
					}
					is := o.Stages[0].Slow
					if is == nil || is.Connections != 2 || is.CaughtUp != 2 || len(is.Each) != 2 {
						t.Fatalf("the slow part is %+v, want two connections that caught up", is)
					}
					backlog := writeRate * pause.Seconds()
					took := backlog / (served - writeRate)
					released := is.Start.Add(is.Length)
					for i, one := range is.Each {
						if !one.CaughtUp || one.Ended || one.Watchers != w/3 || i > 0 && one.Connection <= is.Each[i-1].Connection {
							t.Errorf("connection %d caught up as %+v", i, one)
						}
						near(t, "the time until it caught up", one.Took.Seconds(), took, .02)
						near(t, "the changes meanwhile", one.Changes, served*took, .02)
						near(t, "the time since it is behind", released.Sub(one.BehindSince).Seconds(), pause.Seconds(), .01)
					}
					rates := is.Rates()
					if len(rates) != 2 || rates[0] > rates[1] {
						t.Fatalf("the rates are %v, want two that rise", rates)
					}
					near(t, "the least rate", rates[0], served, .01)
					near(t, "the greatest rate", rates[1], served, .01)
					near(t, "the rate of writes meanwhile", is.WriteRate(), writeRate, .01)
				})
			})
		}
	}
}

// A connection that gets less than is written does not catch up before the load ends. Its rate is
// the store's all the same, and nothing is lost: the rest comes after the load.
func TestNeverCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, w, served = 18_000, 12, 1500
		r := newRig(t, deliver.Law{CatchUp: served * w / 3}, stream1, watchers.Plan{
			Watchers: []int{w}, Of: watchers.All, Slow: watchers.Slow{Share: 1, Pause: 3 * time.Second},
		})
		r.ends = true
		o := r.run(n)
		if want := (watchers.Counts{Writes: n, Delivered: n * w}); o.Counts != want || o.BehindWhy != "" {
			t.Fatalf("counts %+v, want %+v; behind %q", o.Counts, want, o.BehindWhy)
		}
		is := o.Stages[0].Slow
		if is == nil || is.CaughtUp != 0 || len(is.Each) != 1 || is.Each[0].CaughtUp || is.Each[0].Ended {
			t.Fatalf("the slow part is %+v, want a connection that did not catch up", is)
		}
		near(t, "the rate", is.Rates()[0], served, .01)
		near(t, "the rate of writes meanwhile", is.WriteRate(), writeRate, .01)
		// Writes take 9.9 s, and the connection reads again after 5.5.
		near(t, "the time until the end", is.Each[0].Took.Seconds(), 4.4, .01)
	})
}

// The next pause ends the wait for a connection that is behind, and each stage has its own numbers.
func TestCatchUpStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, served = 18_000, 1500
		r := newRig(t, deliver.Law{CatchUp: served * 4}, stream1, watchers.Plan{
			Watchers: []int{11, 12}, Of: watchers.All, Slow: watchers.Slow{Share: 1, Pause: 2 * time.Second},
		})
		r.ends = true
		o := r.run(n)
		if c := o.Counts; c.Lost+c.Duplicate+c.Reordered+c.Behind+c.Unjudged+c.Foreign > 0 {
			t.Fatalf("counts %+v", c)
		}
		// Stages last 5 s: a connection reads again after 3.25 and 8.25 s, and is held after 6.25 s
		// or the load ends after 9.9.
		for i, took := range []float64{3, 1.65} {
			is := o.Stages[i].Slow
			if is == nil || is.CaughtUp != 0 || len(is.Each) != 1 || is.Each[0].CaughtUp {
				t.Fatalf("the slow part of stage %d is %+v, want a connection that did not catch up", i, is)
			}
			near(t, "the time until the next pause", is.Each[0].Took.Seconds(), took, .01)
			near(t, "the rate of writes meanwhile", is.WriteRate(), writeRate, .01)
		}
	})
}
