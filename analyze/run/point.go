package run

import (
	"cmp"
	"math"
	"slices"
)

// Largest returns the index of the stage that represents a stepped load: on the way up, the stage
// with the most clients, and among those the one that asks for the most: a closed loop asks for
// more than any rate. If several ask for the same, it is the first.
func Largest(stages []*Stage) int {
	best := 0
	for i, g := range stages {
		b := stages[best]
		if !g.Down && (b.Down || cmp.Or(cmp.Compare(g.Clients, b.Clients), cmp.Compare(g.asked(), b.asked())) > 0) {
			best = i
		}
	}
	return best
}

// asked returns the highest rate of a stage in requests per second, infinite for a closed loop.
func (g *Stage) asked() float64 {
	if g.Rate == [2]float64{} {
		return math.Inf(1)
	}
	return max(g.Rate[0], g.Rate[1])
}

// Like returns the stage at the same point in the load as other, or nil if it did not run.
func Like(stages []*Stage, other *Stage) *Stage {
	at := slices.IndexFunc(stages, func(g *Stage) bool {
		return g.Clients == other.Clients && g.Rate == other.Rate && g.Down == other.Down
	})
	if at < 0 {
		return nil
	}
	return stages[at]
}

// At returns a function that applies of to the stage at the same point in the load as like.
func At(like *Stage, of func(*Run, *Stage) Measure) func(*Run) Measure {
	return func(r *Run) Measure {
		if g := Like(r.Stages, like); g != nil {
			return of(r, g)
		}
		return Missing("the step did not run")
	}
}
