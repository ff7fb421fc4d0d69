package abtest

import (
	"math"
	"testing"
)

// Two columns have the power of one signed rank test at the remaining level.
func TestPowerOfTwo(t *testing.T) {
	t.Parallel()
	s := Screen{Columns: 2, Trials: 10, Alpha: .05}
	if p := s.Power(0, .1); p > .06 {
		t.Errorf("equal columns are named in %.1f %% of the draws", 100*p)
	}
	if p := s.Power(1, .1); p != 1 {
		t.Errorf("a difference of ten deviations is named in %.1f %% of the draws", 100*p)
	}
	few := s
	few.Trials = s.Least() - 1
	if s.Least() != 6 || few.Power(1, .1) != 0 {
		t.Errorf("at least %d trials are needed, and fewer have the power %g", s.Least(), few.Power(1, .1))
	}
}

// More columns, more comparisons and more metrics need more trials; more metrics that move
// together need fewer.
func TestPowerFalls(t *testing.T) {
	t.Parallel()
	base := Screen{Columns: 2, Trials: 10, Metrics: 2, Moved: 1, Alpha: .05}
	power := base.Power(math.Log(1.2), .1)
	for name, s := range map[string]Screen{
		"columns":     {Columns: 5, Trials: 10, Metrics: 2, Moved: 1, Alpha: .05},
		"comparisons": {Columns: 2, Pairs: 10, Trials: 10, Metrics: 2, Moved: 1, Alpha: .05},
		"numbers":     {Columns: 2, Trials: 10, Metrics: 8, Moved: 1, Alpha: .05},
	} {
		if p := s.Power(math.Log(1.2), .1); p >= power {
			t.Errorf("more %s: the power rises from %.2f to %.2f", name, power, p)
		}
	}
	apart, together := Screen{Columns: 2, Trials: 12, Metrics: 8, Moved: 1, Alpha: .05}, Screen{Columns: 2, Trials: 12, Metrics: 8, Moved: 4, Alpha: .05}
	if a, b := apart.Power(math.Log(1.2), .1), together.Power(math.Log(1.2), .1); a >= b {
		t.Errorf("numbers that move together have the power %.2f, one alone %.2f", b, a)
	}
	n := base.Needed(math.Log(1.2), .1, MaxGroup)
	base.Trials = n
	if n < base.Least() || base.Power(math.Log(1.2), .1) < .8 {
		t.Errorf("%d trials are needed, with the power %.2f", n, base.Power(math.Log(1.2), .1))
	}
	if n := base.Needed(.001, 1, 8); n != 0 {
		t.Errorf("%d trials show a difference that no 8 can", n)
	}
}
