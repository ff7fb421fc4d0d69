package main

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/stats/capacity"
)

// serverKind describes a simulated server: 8 workers that serve one request after the
// other, in log-normal times.
type serverKind struct {
	name string
	// noise is the standard deviation of ln capacity from window to window.
	noise float64
	// drift is the change of ln capacity over driftSeconds of load.
	drift float64
	// A stall of stallLength seconds comes each stallEvery seconds on average.
	stallEvery, stallLength float64
	// cliff makes a request that waited longer than cliffWait cost three times as much.
	cliff bool
}

const (
	workers       = 8
	fullRate      = 2000.0 // requests per second without any wait
	cliffWait     = .005   // seconds
	driftSeconds  = 400.0
	settleSeconds = 2.0
	windowSeconds = 8.0
)

func serverKinds() []serverKind {
	return []serverKind{
		{name: "clean"},
		{name: "noise 2 %", noise: .02},
		{name: "noise 5 %", noise: .05},
		{name: "cliff", noise: .02, cliff: true},
		{name: "drift by 4 %", noise: .02, drift: .04},
		{name: "stalls", noise: .02, stallEvery: 20, stallLength: .1},
	}
}

// server has its own virtual time.
type server struct {
	serverKind
	rng   *rand.Rand
	spent float64 // seconds under load
	sign  float64 // of the drift
	times []float64
	done  [int(settleSeconds+windowSeconds)*1000 + 1]bool
}

func newServer(kind serverKind, rng *rand.Rand) *server {
	return &server{serverKind: kind, rng: rng, sign: float64(2*rng.IntN(2) - 1), times: serviceTimes()}
}

// serviceTimes are equally likely times from a log-normal distribution with the mean 1.
var serviceTimes = sync.OnceValue(func() []float64 {
	const sigma, n = .5, 1 << 13
	times := make([]float64, n)
	for i := range times {
		times[i] = math.Exp(sigma*math.Sqrt2*math.Erfinv(2*(float64(i)+.5)/n-1) - sigma*sigma/2)
	}
	return times
})

// drifted is the drift so far, in logarithms.
func (s *server) drifted(spent float64) float64 { return s.sign * s.drift * spent / driftSeconds }

// window measures one, with requests due evenly, after the server has settled. The last
// window left no backlog.
func (s *server) window(o capacity.Options, rate float64) capacity.Window {
	w := capacity.Window{Rate: rate}
	full := fullRate * math.Exp(s.rng.NormFloat64()*s.noise+s.drifted(s.spent))
	mean, limit := workers/full, o.Limit.Seconds()
	enough := int64((1 - o.At) * rate * windowSeconds) // over the limit: the window has failed
	stall := math.Inf(1)
	if s.stallEvery > 0 {
		stall = s.rng.ExpFloat64() * s.stallEvery
	}
	var free [workers]float64
	clear(s.done[:])
	const end = settleSeconds + windowSeconds
	gap := 1 / rate
	for i := 0; ; i++ {
		due := float64(i) * gap
		if due >= end {
			break
		}
		for due >= stall {
			for k := range free {
				free[k] = math.Max(free[k], stall) + s.stallLength
			}
			stall += s.stallLength + s.rng.ExpFloat64()*s.stallEvery
		}
		first := 0
		for k := range free {
			if free[k] < free[first] {
				first = k
			}
		}
		start := math.Max(free[first], due)
		service := mean * s.times[s.rng.Uint64()%uint64(len(s.times))]
		if s.cliff && start-due > cliffWait {
			service *= 3
		}
		free[first] = start + service
		if bin := int(free[first] * 1000); s.stallEvery > 0 && bin < len(s.done) {
			s.done[bin] = true
		}
		if due >= settleSeconds {
			w.Offered++
			if free[first]-due > limit {
				w.Over++
			}
			if s.stallEvery == 0 && w.Over > enough+1 { // nothing can change that
				break
			}
		}
	}
	s.spent += end
	if s.stallEvery > 0 {
		w.Pause = s.pause()
	}
	return w
}

// pause is the longest time in the window in which no request ended, in whole
// milliseconds. There is always one waiting at the rates that matter.
func (s *server) pause() time.Duration {
	longest, run := 0, 0
	for _, ended := range s.done[int(settleSeconds)*1000 : len(s.done)-1] {
		if run++; ended {
			run = 0
		}
		longest = max(longest, run)
	}
	return time.Duration(longest) * time.Millisecond
}

// passing returns how many of n windows at a rate pass.
func (s *server) passing(o capacity.Options, rate float64, n int) (k int) {
	for range n {
		if o.Judge(s.window(o, rate)) == capacity.Pass {
			k++
		}
	}
	return k
}

// truth returns the rate at which the wanted share of windows pass, by n windows at each rate in a
// bisection, without the drift.
func truth(kind serverKind, o capacity.Options, n int) float64 {
	kind.drift = 0
	s := newServer(kind, rand.New(rand.NewPCG(1, 2)))
	low, high := .25*fullRate, 1.25*fullRate
	for high/low > 1.002 {
		middle := math.Sqrt(low * high)
		if float64(s.passing(o, middle, n)) >= o.Share*float64(n) {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high)
}
