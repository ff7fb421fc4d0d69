package watch

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

var coalescing = database.WatchFacts{Kind: database.WatchBlocking, Ordered: true, Coalesces: true, Values: true, Ranges: true, Conns: true}

// Every write that overlaps with no other has the time until all had received it or a newer one,
// also if no watcher received it: the times equal those in the store's reports.
func TestReplacedTimes(t *testing.T) {
	for _, values := range []bool{true, false} {
		for _, keys := range []int64{1, 4, 16} {
			t.Run(fmt.Sprintf("values %v, %d keys", values, keys), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const n, w = 3000, 8
					facts := coalescing
					facts.Values = values
					r := newRig(t, deliver.Law{}, facts, watchers.Plan{Watchers: []int{w}, Of: watchers.All})
					r.load.Keys = keys
					r.watching = New(r.watching.Options)
					r.blocking = newBlocking(3 * time.Millisecond)
					o := r.run(n)
					got, want := o.Stages[0].All, results.SpreadOf(r.heardTimes(w))
					if got == nil || got.N != n || o.Stages[0].Unheard() != 0 || o.Counts.Coalesced == 0 {
						t.Fatalf("all heard %+v of %d writes with counts %+v, want all of them", got, n, o.Counts)
					}
					near(t, "the median", float64(got.P50), float64(want.P50), .01)
					near(t, "p99", float64(got.P99), float64(want.P99), .01)
					near(t, "the longest", float64(got.Max), float64(want.Max), .001)
					if values && o.Stages[0].Old.Max-got.Max != int64(queued) {
						t.Errorf("the old value was used for %d ns at most, want %v more than %d", o.Stages[0].Old.Max, queued, got.Max)
					}
				})
			})
		}
	}
}

// heardTimes returns, for each write, the time until the last watcher received it or a newer one to
// its key.
func (r *rig) heardTimes(watchers int32) (times []int64) {
	type of struct {
		watcher int32
		key     string
	}
	told := map[of][]report{}
	for _, one := range r.blocking.reports {
		told[of{one.watcher, string(one.key)}] = append(told[of{one.watcher, string(one.key)}], one)
	}
	for i, e := range r.all {
		last := int64(0)
		for watcher := range watchers {
			list := told[of{watcher, string(r.watching.judge.keys.name(e.Key))}]
			if first := slices.IndexFunc(list, func(one report) bool { return one.version > int64(i) }); first >= 0 {
				last = max(last, list[first].at.UnixNano())
			}
		}
		times = append(times, last-e.Sent)
	}
	return times
}

// one is a write in a test, and when watchers receive it: 0 for never, slow ones later.
type one struct{ sent, end, heard, slow int64 }

// timesOf judges writes to one key. No watcher receives the second. It returns the sum of their
// times until all had received them, in milliseconds, and the number of times. Late passes the
// second write last.
func timesOf(writes []one, late bool) (sum, n int64) {
	const ms = int64(time.Millisecond)
	j := updates(coalescing)
	fast, _ := j.join(false)
	slow, _ := j.join(true)
	j.establish(fast, 0, 1)
	j.establish(slow, 0, 1)
	pass := func(i int) {
		w := writes[i]
		j.observe([]load.Ended{{Number: int64(i), Key: 3, Sent: w.sent * ms, Due: w.sent * ms, End: w.end * ms, Change: -1, Outcome: workload.OK}}, 0)
	}
	for i, w := range writes {
		if w.heard > 0 {
			value := append(binary.LittleEndian.AppendUint64(nil, uint64(i)), make([]byte, 8)...)
			for _, to := range []struct {
				watcher int32
				at      int64
			}{{fast, w.heard}, {slow, w.slow}} {
				j.receive(to.at*ms, []database.WatchEvent{{Watcher: to.watcher, Key: j.keys.name(3), Value: value, Version: int64(10 * (i + 1))}})
			}
		}
		if i != 1 || !late {
			pass(i)
		}
	}
	if late {
		pass(1)
	}
	j.observe(nil, writes[0].sent*ms)
	j.finish(true)
	all := watchers.Observed().Total(j.take())[watchers.ValueAll]
	return all.Value / ms, all.N
}

// The time for a write that no watcher received is known to within a factor of two if writes to the
// key overlapped, and exactly if not: else the write has no time.
func TestOverlappingWrites(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []one
		want   int64 // the time for the write that no watcher received, or 0
	}{
		{"older and newer ones are known", []one{{10, 50, 60, 70}, {110, 310, 0, 0}, {1000, 1100, 1200, 1250}}, 1090},
		{"heard of before it was sent", []one{{10, 200, 105, 106}, {110, 310, 0, 0}, {1000, 1100, 1200, 1250}}, 1090},
		{"bounded", []one{{100, 300, 350, 360}, {110, 310, 0, 0}, {320, 400, 500, 900}}, 390},
		{"bounded loosely", []one{{100, 300, 350, 360}, {110, 310, 0, 0}, {2000, 2100, 2500, 2600}}, 0},
		{"no surely newer one", []one{{10, 50, 60, 70}, {110, 310, 0, 0}, {305, 400, 500, 900}}, 0},
		{"the second newer one is sure", []one{{10, 50, 60, 70}, {110, 310, 0, 0}, {305, 400, 500, 510}, {320, 410, 510, 520}}, 400},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %v", c.name, late), func(t *testing.T) {
				want, number := c.want, int64(0)
				for _, w := range c.writes {
					if w.heard > 0 {
						want, number = want+w.heard-w.sent, number+1
					}
				}
				if c.want > 0 {
					number++
				}
				if sum, n := timesOf(c.writes, late); sum != want || n != number {
					t.Errorf("%d times are %d ms together, want %d of %d ms", n, sum, number, want)
				}
			})
		}
	}
}

// When too much would be kept, records about later writes are still right: those that may have
// followed a dropped one have no time.
func TestReplacedIsBounded(t *testing.T) {
	r := newReplaced(0)
	settle := func(version int64) {
		w := &write{key: 1, sent: version - 1, end: version, acked: true}
		r.settle(&entry{version: version, key: 1, write: w, first: version, last: version, all: version})
	}
	for version := int64(10); version < mostSettled+10; version++ {
		settle(version)
	}
	if all, found := r.next(1, 100); !found || all != 101 {
		t.Errorf("after version 100 all had heard at %d (%v), want 101", all, found)
	}
	settle(mostSettled + 10)
	if r.kept != 1 {
		t.Errorf("%d versions are kept, want the last", r.kept)
	}
	if all, found := r.next(1, 100); !found || all != 0 {
		t.Errorf("after version 100 all had heard at %d (%v), want that it is not known", all, found)
	}
	if all, found := r.next(1, mostSettled+9); !found || all != mostSettled+10 {
		t.Errorf("after the last version but one all had heard at %d (%v)", all, found)
	}
	w := &write{key: 1, sent: 100, end: 200, acked: true}
	if r.wait(w); w.replacedAt() != 0 {
		t.Errorf("a write before what was dropped has the time %d", w.replacedAt())
	}
	if r.forget(mostSettled + 11); r.kept != 0 || len(r.recent) != 0 {
		t.Errorf("%d versions are kept after all that may precede them were passed", r.kept)
	}
}
