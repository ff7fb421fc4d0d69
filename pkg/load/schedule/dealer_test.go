package schedule

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestDealer: hands that take requests in any order get each request in every kind of schedule
// once, only their own, at its due time. Left-out requests go to no hand.
func TestDealer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		want := allDue(t, New(o))
		s, hands := New(o), rapid.IntRange(1, 30).Draw(t, "hands")
		d := NewDealer(s, hands)
		got := make([]int64, len(want))
		for n := range got {
			got[n] = -1
		}
		last, over := make([]int64, hands), make([]bool, hands)
		for n := range last {
			last[n] = int64(n - hands)
		}
		turn := func(h int) bool {
			number, due, ok := d.Hand(h).Next()
			if !ok {
				over[h] = true
				return false
			}
			if over[h] || number != last[h]+int64(hands) || due != want[number] {
				t.Fatalf("%+v: hand %d of %d got request %d due %d after request %d, ended before: %v; want the next of its own, due %d",
					o, h, hands, number, due, last[h], over[h], want[number])
			}
			last[h], got[number] = number, due
			return true
		}
		for _, h := range rapid.SliceOfN(rapid.IntRange(0, hands-1), 0, 500).Draw(t, "turns") {
			turn(h)
		}
		from, to := int64(len(want)), int64(len(want))
		if rapid.Bool().Draw(t, "leave the rest") {
			from, to = s.(Leaver).Leave(Never)
		}
		for h := range hands {
			for turn(h) {
			}
		}
		if i := slices.Index(got[:from], -1); i >= 0 {
			t.Fatalf("%+v: nobody got request %d", o, i)
		}
		for n := from; n < to; n++ {
			if got[n] >= 0 {
				t.Fatalf("%+v: request %d was left out and dealt", o, n)
			}
		}
		if n := s.Used(); n != int64(len(want)) {
			t.Fatalf("%+v: %d requests used, want %d", o, n, len(want))
		}
	})
}

// TestDealerKeepsRoom: memory depends on the waiting requests, not on the number taken.
func TestDealerKeepsRoom(t *testing.T) {
	d := NewDealer(New(Options{Rate: 1000, Requests: 1_000_000}), 3)
	for range 300_000 {
		for h := range 3 {
			d.Hand(h).Next()
		}
	}
	for h := range d.hands {
		if n := cap(d.hands[h].dealt); n > 16 {
			t.Errorf("hand %d has room for %d requests after none waited, want at most 16", h, n)
		}
	}
}

// TestDealerConcurrent: hands on separate goroutines get all requests.
func TestDealerConcurrent(t *testing.T) {
	d, counts := NewDealer(New(Options{Rate: 1000, Requests: 100_001, Poisson: true, Seed: 1}), 10), make([]int, 10)
	var all sync.WaitGroup
	for h := range counts {
		all.Go(func() {
			for _, _, ok := d.Hand(h).Next(); ok; _, _, ok = d.Hand(h).Next() {
				counts[h]++
			}
		})
	}
	all.Wait()
	if counts[0] != 10_001 || slices.Max(counts[1:]) != 10_000 || slices.Min(counts[1:]) != 10_000 {
		t.Errorf("the hands got %v requests, want 10001 and then 10000 each", counts)
	}
}
