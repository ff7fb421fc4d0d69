package capacity

import (
	"cmp"
	"math"
	"slices"
)

// A failed window in which the server paused may have failed by a stall that no rate avoids, or
// because its rate was too high: a server with capped processor time pauses when it has used its
// share. Windows at low rates distinguish the two cases: in the first, the server stalls there as
// often. The evidence is a Bayes factor between two hypotheses: that all windows stall with one
// unknown probability, and that windows below some rate have a lower one.

const (
	// control is at which share of the highest passed rate windows test for stalls.
	control = .5
	// convincing is the Bayes factor from which stalls depend on the rate, and unlikely the
	// factor below which no more windows are spent on the question.
	convincing = 60
	unlikely   = 1. / 8
	// likelier is the deciding factor when no window is left for the test.
	likelier = 3
)

// dependence returns the Bayes factor for stalls that depend on the rate: 1 without evidence.
func (s *Search) dependence() float64 {
	windows := slices.Clone(s.history)
	slices.SortFunc(windows, func(a, b counted) int { return cmp.Compare(a.rate, b.rate) })
	all := 0.0
	for _, w := range windows {
		all += number(w.stalled)
	}
	n := float64(len(windows))
	whole, sum, cuts := evidence(all, n), 0.0, 0.0
	lows, stalls := 0.0, 0.0
	for i, w := range windows[:max(len(windows)-1, 0)] {
		lows, stalls = lows+1, stalls+number(w.stalled)
		if windows[i+1].rate == w.rate {
			continue
		}
		cuts++
		if (all-stalls)*lows > stalls*(n-lows) {
			sum += math.Exp(evidence(stalls, lows) + evidence(all-stalls, n-lows) - whole)
		}
	}
	if cuts == 0 {
		return 1
	}
	return sum / cuts
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// evidence returns the log probability of k particular events among n, averaged over all
// probabilities for one event.
func evidence(k, n float64) float64 {
	a, _ := math.Lgamma(k + 1)
	b, _ := math.Lgamma(n - k + 1)
	c, _ := math.Lgamma(n + 2)
	return a + b - c
}

// weighStalls decides whether stalled windows were avoidable, and reports whether that changed.
func (s *Search) weighStalls() bool {
	was := s.avoidable
	if s.factor = 1; s.state.Stalled > 1 {
		s.factor = s.dependence()
	}
	enough := float64(convincing)
	if s.state.Windows >= s.o.Windows {
		enough = likelier
	}
	// It stays so until the evidence is gone.
	s.avoidable = s.factor >= enough || was && s.factor > 2
	return was != s.avoidable
}

// unavoidable counts the windows that did not stall because of their rate.
func (s *Search) unavoidable() int {
	if s.avoidable {
		return 0
	}
	return s.state.Stalled
}

// controls returns the rate for a window that tests whether low rates stall, 0 if there is no need.
func (s *Search) controls() float64 {
	if s.state.Stalled < 2 || s.avoidable || s.factor < unlikely || s.state.Windows%3 != 1 {
		return 0
	}
	highest := 0.0
	for _, w := range s.history {
		if w.pass {
			highest = max(highest, w.rate)
		}
	}
	return max(control*highest, s.o.Least)
}
