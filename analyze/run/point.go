package run

import "slices"

// Largest returns the index of the stage that represents a stepped load: on the way up, the stage
// with the most clients, and among those the highest rate.
func Largest(stages []*Stage) int {
	best := 0
	for i, g := range stages {
		b := stages[best]
		if !g.Down && (b.Down || g.Clients > b.Clients || g.Clients == b.Clients && max(g.Rate[0], g.Rate[1]) > max(b.Rate[0], b.Rate[1])) {
			best = i
		}
	}
	return best
}

// Like returns the stage at the same point of the load as other, or nil if it did not run.
func Like(stages []*Stage, other *Stage) *Stage {
	at := slices.IndexFunc(stages, func(g *Stage) bool {
		return g.Clients == other.Clients && g.Rate == other.Rate && g.Down == other.Down
	})
	if at < 0 {
		return nil
	}
	return stages[at]
}

// At returns a function that applies of to a run's stage at the same point of the load as like.
func At(like *Stage, of func(*Run, *Stage) Measure) func(*Run) Measure {
	return func(r *Run) Measure {
		if g := Like(r.Stages, like); g != nil {
			return of(r, g)
		}
		return Missing("the step did not run")
	}
}
