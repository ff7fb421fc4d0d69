package main

import (
	"math"
	"math/rand/v2"
)

// hostKind describes how a host differs from one run to the next, in logarithms.
type hostKind struct {
	name string
	// wander is the standard deviation of a part the next run keeps in the share memory (an AR(1)
	// process), drift the largest slope over the whole series, run the standard deviation of one
	// run.
	wander, memory, drift, run float64
}

// pairDeviation returns the standard deviation of the difference between successive runs, without
// the drift, which is the same between all of them.
func (k hostKind) pairDeviation() float64 {
	return math.Sqrt(2*k.run*k.run + 2*k.wander*k.wander*(1-k.memory))
}

// hostKinds are fixed before the method they judge.
func hostKinds() []hostKind {
	return []hostKind{
		{name: "drifting, 2 % within a pair", wander: .03, memory: .9378, drift: .06, run: .012},
		{name: "drifting, 3.4 % within a pair", wander: .03, memory: .8, drift: .06, run: .02},
	}
}

// host gives run speeds, one after the other.
type host struct {
	hostKind
	rng   *rand.Rand
	state float64
	slope float64 // per run
	made  int
}

// newHost starts a series that is expected to have so many runs.
func newHost(kind hostKind, rng *rand.Rand, runs int) *host {
	return &host{hostKind: kind, rng: rng, state: rng.NormFloat64() * kind.wander, slope: (2*rng.Float64() - 1) * kind.drift / float64(runs)}
}

// next advances the host by one run and returns the logarithm of its speed.
func (h *host) next() float64 {
	h.state = h.memory*h.state + h.rng.NormFloat64()*h.wander*math.Sqrt(1-h.memory*h.memory)
	h.made++
	return h.state + h.slope*float64(h.made) + h.rng.NormFloat64()*h.run
}

// pairs makes n more pairs in blocks A B B A. The result is ln B - ln A, with B changed by shift.
func (h *host) pairs(n int, shift float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		first, second := h.next(), h.next()
		if i%2 == 0 { // A B, then B A
			out[i] = second - first + shift
		} else {
			out[i] = first - second + shift
		}
	}
	return out
}
