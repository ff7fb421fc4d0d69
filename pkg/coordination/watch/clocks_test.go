package watch

import (
	"cmp"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
)

// Writes timed by a clock that is ahead or behind are judged as by the same clock: each lie is
// found, and nothing else, also where watchers are added.
func TestClocks(t *testing.T) {
	for _, facts := range []database.WatchFacts{stream1, byVersion} {
		for _, ahead := range []time.Duration{-400 * time.Millisecond, 400 * time.Millisecond} {
			for _, lie := range append(deliver.Lies(), deliver.Honest) {
				t.Run(fmt.Sprintf("%s %v %s", facts.Kind, ahead, cmp.Or(string(lie), "honest")), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						const n, w = 3_000, 6
						r := newRig(t, deliver.Law{Delay: 5 * time.Millisecond, Lie: lie, Every: 1009}, facts, watchers.Plan{Watchers: []int{2, w}, Of: watchers.All})
						r.load.Duration = 2 * time.Second
						r.ahead = ahead
						o := r.watching.Options
						o.Unsure = time.Second
						r.watching = New(o)
						c := r.run(n).Counts
						lied := int64(len(r.hub.Lied()))
						want := watchers.Counts{Writes: n, Delivered: c.Delivered}
						switch lie {
						case deliver.Lose:
							want.Lost = lied
						case deliver.Double:
							want.Duplicate = lied
						case deliver.Swap:
							want.Reordered = lied
						}
						if c != want || (lied > 0) != (lie != deliver.Honest) {
							t.Fatalf("counts %+v, want %+v", c, want)
						}
						if made := c.Delivered + c.Lost; made < n*2 || made > n*w {
							t.Errorf("%d deliveries, want 2 to %d of each of %d writes", made, w, n)
						}
					})
				})
			}
		}
	}
}

// Missing events are not lost if clocks may be off by more than is allowed for.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, w = 2_000, 6
		r := newRig(t, deliver.Law{Lie: deliver.Lose, Every: 1009}, stream1, watchers.Plan{Watchers: []int{w}, Of: watchers.All})
		r.watching.Doubt(errors.New("the clocks are far apart"))
		o, lied := r.run(n), int64(len(r.hub.Lied()))
		if want := (watchers.Counts{Writes: n, Delivered: n*w - lied, Behind: lied}); o.Counts != want || lied == 0 || o.BehindWhy != "the clocks are far apart" {
			t.Errorf("counts %+v, behind %q; want %+v", o.Counts, o.BehindWhy, want)
		}
	})
}
