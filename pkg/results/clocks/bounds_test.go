package clocks

import (
	"math/rand/v2"
	"testing"
)

// The client time lies within the bounds although the clock drifts to and fro, and the bounds are
// not much wider than the error of the best nearby exchanges.
func TestBounds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	ahead := func(ns int64) int64 { // after so long; up to 400 ppm
		second, drift := ns/s, int64(0)
		for n := range second {
			drift += []int64{400_000, -300_000, 100_000}[n%3]
		}
		return 70*ms + drift + (ns%s)*[]int64{400, -300, 100}[second%3]/1_000_000
	}
	var all []Exchange
	for i := range int64(300) {
		sent, there, back := i*s, random.Int64N(2*ms), random.Int64N(2*ms)
		all = append(all, NewExchange(1, base+sent, base+sent+there+ahead(sent+there), base+sent+there+ahead(sent+there), base+sent+there+back))
	}
	b := NewBounds(all)
	for i := range int64(3020) {
		at := (i - 10) * s / 10
		earliest, latest, ok := b.Client(base + at + ahead(max(at, 0)))
		if !ok || base+at < earliest || base+at > latest || i > 10 && i < 3000 && latest-earliest > 5*ms {
			t.Fatalf("second %.1f: between %d and %d before and after it (%v)", float64(at)/float64(s), base+at-earliest, latest-base-at, ok)
		}
	}
}

// Between two exchanges that no drift explains, the clock was set: nothing is known then, and all before
// and after it.
func TestBoundsOfASetClock(t *testing.T) {
	t.Parallel()
	b := NewBounds([]Exchange{exchange(0, 0, ms, ms), exchange(1, 0, ms, ms), exchange(2, 500*ms, ms, ms), exchange(3, 500*ms, ms, ms)})
	for _, tc := range []struct {
		member int64 // after base
		client int64
		known  bool
	}{{s / 2, s / 2, true}, {s + s/2, 0, false}, {3 * s, 3*s - 500*ms, true}, {9 * s, 9*s - 500*ms, true}} {
		earliest, latest, ok := b.Client(base + tc.member)
		if ok != tc.known || ok && (base+tc.client < earliest || base+tc.client > latest) {
			t.Errorf("%d ms: between %d and %d (%v), want %d (%v)", tc.member/ms, earliest-base, latest-base, ok, tc.client, tc.known)
		}
	}
	if _, _, ok := (NewBounds(nil)).Client(base); ok {
		t.Error("nothing is known of a clock without exchanges")
	}
}
