package main

import "testing"

// The rates at which 80 % of windows pass, as test-results/verdicts.md has them.
const (
	noisyTruth = 1930.0
	cliffTruth = 1724.0
)

// TestCapacity runs a small part of the simulations in `make verdicts`, with their seeds.
func TestCapacity(t *testing.T) {
	const n = 3
	for k, kind := range serverKinds() {
		truth := map[string]float64{"noise 2 %": noisyTruth, "cliff": cliffTruth}[kind.name]
		if truth == 0 && kind.stallEvery == 0 {
			continue
		}
		c := score(methods()[0], kind, searchOptions(), truth, n, 100+k)
		switch {
		case kind.stallEvery > 0 && c.stalls < n:
			t.Errorf("%s: named in %d of %d", kind.name, c.stalls, n)
		case kind.stallEvery == 0 && (c.inside < n || c.close < n):
			t.Errorf("%s: the truth is in %d of %d intervals, the estimate near it in %d", kind.name, c.inside, n, c.close)
		}
		if c.windows > 40 {
			t.Errorf("%s: %.1f windows, want at most 40", kind.name, c.windows)
		}
	}
}

// TestRivals: every method finds the capacity if a server varies little.
func TestRivals(t *testing.T) {
	kind := serverKinds()[1]
	for _, m := range methods()[2:] {
		if c := score(m, kind, searchOptions(), noisyTruth, 2, 100); c.close < 2 || c.windows > 40 {
			t.Errorf("%s: near the truth in %d of 2, with %.1f windows", m.name, c.close, c.windows)
		}
	}
}
