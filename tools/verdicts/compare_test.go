package main

import (
	"math"
	"testing"

	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// simulated is an eighth of the comparisons that `make verdicts` makes. Seeds are fixed, so every
// machine gets the same numbers.
const simulated = 250

func TestAlarms(t *testing.T) {
	for i, kind := range hostKinds() {
		for j, d := range designs() {
			if d.apart {
				continue
			}
			c := compareOften(d, kind, 0, simulated, 1000+10*i+j)
			if share := c.share(abtest.Worse); share > .06 {
				t.Errorf("%s, %s: %.1f %% of comparisons of A with A are alarms, want at most 5 %% + 1 point", kind.name, d.name, 100*share)
			}
			if share := c.share(abtest.Worse) + c.share(abtest.Better) + float64(c.unconfirmed)/simulated; share > .06 {
				t.Errorf("%s, %s: %.1f %% of comparisons of A with A find a difference, want at most 5 %% + 1 point", kind.name, d.name, 100*share)
			}
		}
	}
}

func TestPower(t *testing.T) {
	kind := hostKinds()[0]
	if dev := kind.pairDeviation(); math.Abs(dev-.02) > .0001 {
		t.Fatalf("the deviation within a pair is %.4f, want 0.02", dev)
	}
	for j, d := range designs() {
		if d.apart {
			continue
		}
		if c := compareOften(d, kind, -.05, simulated, 2000+j); c.share(abtest.Worse) < .85 {
			t.Errorf("%s: a fall by 5 %% is found in %.1f %%, want at least 85 %%", d.name, 100*c.share(abtest.Worse))
		}
	}
}

// TestApart: the reason for pairs. Runs that are made one side after the other alarm far
// too often on a host that drifts.
func TestApart(t *testing.T) {
	for i, kind := range hostKinds() {
		d := designs()[len(designs())-1]
		if c := compareOften(d, kind, 0, simulated, 3000+i); c.share(abtest.Worse)+c.share(abtest.Better) < .15 {
			t.Errorf("%s: only %.1f %% of comparisons of A with A that are not interleaved find a difference; docs say that many do", kind.name, 100*(c.share(abtest.Worse)+c.share(abtest.Better)))
		}
	}
}
