package stationary

import (
	"math"
	"math/rand/v2"
	"testing"
)

// noisy returns n values that deviate by 5 % from their levels.
func noisy(seed uint64, n int, level func(i int) float64) []float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	values := make([]float64, n)
	for i := range values {
		values[i] = level(i) * (1 + 0.05*random.NormFloat64())
	}
	return values
}

func TestFind(t *testing.T) {
	constant := func(int) float64 { return 1000 }
	step := func(i int) float64 {
		if i < 20 {
			return 1000
		}
		return 2000
	}
	climb := func(i int) float64 { return 21000 + float64(i)*34000/59 }
	warm := func(i int) float64 { return 21000 + 34000*min(1, float64(i)/15) }
	small := func(i int) float64 { return 1000 + float64(i) }
	stall := func(i int) float64 {
		if i == 30 || i == 31 {
			return 0
		}
		return 1000
	}
	for _, tt := range []struct {
		name           string
		n              int
		level          func(int) float64
		kind           Kind
		before, after  float64
		from, to, near int // the steady part's bounds, give or take near
	}{
		{"constant", 60, constant, Steady, 0, 0, 0, 60, 0},
		{"a change too small to matter", 60, small, Steady, 0, 0, 0, 60, 0},
		{"a stall", 60, stall, Steady, 0, 0, 0, 60, 0},
		{"too short", 21, climb, Steady, 0, 0, 0, 21, 0},
		{"a step", 60, step, Steps, 1000, 2000, 20, 60, 2},
		{"a climb", 60, climb, Drifts, 21000, 55000, 0, 0, 60},
		{"a climb to a level", 60, warm, Steps, 40000, 55000, 15, 60, 10},
		{"an hour with a step", 3600, func(i int) float64 { return step(i / 60) }, Steps, 1000, 2000, 1200, 3600, 240},
	} {
		for seed := range uint64(20) {
			f := Series{noisy(seed, tt.n, tt.level), 0.1}.Find()
			if f.Kind != tt.kind {
				t.Errorf("%s, seed %d: %+v, want %q", tt.name, seed, f, tt.kind)
				continue
			}
			if tt.kind != Steady && (math.Abs(f.Before-tt.before) > 0.25*tt.before || math.Abs(f.After-tt.after) > 0.1*tt.after) {
				t.Errorf("%s, seed %d: from %g to %g, want %g to %g", tt.name, seed, f.Before, f.After, tt.before, tt.after)
			}
			if abs(f.From-tt.from) > tt.near || abs(f.To-tt.to) > tt.near {
				t.Errorf("%s, seed %d: steady from %d to %d, want %d to %d", tt.name, seed, f.From, f.To, tt.from, tt.to)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

// Among series without a change, whose noise is a third of the level and whose neighbours are
// similar, at most a few count as changing.
func TestFewFalseFindings(t *testing.T) {
	for _, alike := range []float64{0, 0.5} {
		found := 0
		for seed := range uint64(1000) {
			random := rand.New(rand.NewPCG(seed, 2))
			values, before := make([]float64, 60), 0.0
			for i := range values {
				before = alike*before + math.Sqrt(1-alike*alike)*random.NormFloat64()
				values[i] = 1000 * (1 + before/10)
			}
			if (Series{values, 0.1}.Find()).Kind != Steady {
				found++
			}
		}
		if found > 50 {
			t.Errorf("of 1,000 series without a change, correlation %g, %d are found to change", alike, found)
		}
	}
}

// The example from the literature on the method: a clear step has the probability that the formula
// gives.
func TestPettitt(t *testing.T) {
	values := make([]float64, 22)
	for i := range values {
		values[i] = float64(i / 11)
	}
	at, p := pettitt(values)
	if want := 2 * math.Exp(-6*121*121/(22*22*22+22*22.)); at != 11 || math.Abs(p-want) > 1e-12 || p >= Level {
		t.Errorf("a step in the middle of 22 is at %d with p %g, want 11 and %g below %g", at, p, want, Level)
	}
	if _, p := pettitt([]float64{1, 1, 1, 1}); p != 1 {
		t.Errorf("equal values have p %g, want 1", p)
	}
	if _, p := pettitt(append(make([]float64, 10), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)); p < Level {
		t.Errorf("fewer than %d values have p %g", Shortest, p)
	}
}
