package capacity

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestThrottled: a server that pauses only when its rate is too high, like one whose processor time
// is capped, has a capacity although most failed windows have pauses.
func TestThrottled(t *testing.T) {
	const seeds = 20
	o := Defaults()
	o.Hold = false
	found, inside := 0, 0
	l := law{threshold: 777, spread: .03}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed+1), 21))
		s, _ := run(t, o, func(p Probe) Window {
			w := l.window(rng, p.Rate)
			if w.Over > 0 {
				w.Pause = 75 * time.Millisecond
			}
			return w
		})
		v, truth := s.Verdict(), l.capacity(o.Share)
		if v.Reason == Found || v.Reason == Wide {
			found++
			if v.Low <= truth && truth <= v.High {
				inside++
			}
		} else {
			t.Logf("seed %d: %+v", seed, v)
		}
	}
	if found < seeds-1 || inside < seeds-2 {
		t.Errorf("a capacity is found in %d of %d searches, the truth inside %d intervals", found, seeds, inside)
	}
}

// TestDependence: the evidence is for the rate only if low rates stall less.
func TestDependence(t *testing.T) {
	of := func(lowStalls, lows, highStalls, highs int) float64 {
		s := &Search{}
		add := func(rate float64, stalls, n int) {
			for i := range n {
				s.history = append(s.history, counted{rate, i >= stalls, i < stalls})
			}
		}
		add(100, lowStalls, lows)
		add(1000, highStalls, highs)
		s.history = append(s.history, counted{1000, true, false})
		return s.dependence()
	}
	if f := of(0, 8, 7, 8); f < convincing {
		t.Errorf("no stall of 8 at low rates and 7 of 9 at high ones: a factor of %g", f)
	}
	if f := of(3, 8, 4, 8); f > 1 {
		t.Errorf("3 stalls of 8 at low rates and 4 of 9 at high ones: a factor of %g", f)
	}
	if f := (&Search{history: []counted{{rate: 1, stalled: true}, {rate: 1, pass: true}}}).dependence(); f != 1 {
		t.Errorf("with one rate: a factor of %g", f)
	}
}
