package abtest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Screen is a table of columns of which any two are compared in one number: what a first
// screen of Columns databases with Trials interleaved runs of each can find.
type Screen struct {
	Columns, Trials int
	// Pairs is how many comparisons of two the screen makes if they are more than those of
	// the columns: others of columns that are not comparable with these.
	Pairs int
	// Metrics is how many numbers decide beside each other in each comparison of two, 1 if it
	// is 0. Of them Moved differ together, the compared one among them: the throughput of
	// every step.
	Metrics, Moved int
	// Alpha is the chance of any false difference over all pairs of columns.
	Alpha float64
}

// pairs is the number of comparisons.
func (s Screen) pairs() int { return max(s.Pairs, s.Columns*(s.Columns-1)/2) }

// Least is the least number of trials at which any difference can be named.
func (s Screen) Least() int {
	return Pairs(nil).Least(s.Alpha / 2 / float64(max(s.pairs(), s.Metrics)))
}

// Power returns the chance that a screen names a column which differs from all others by
// this share as different from one of them, if the runs of one column deviate from each
// other by this spread: both as differences of logarithms. It is simulated with normal
// deviations and a fixed seed; 1,000 draws leave one or two percentage points of noise.
func (s Screen) Power(shift, spread float64) float64 {
	const draws = 1_000
	if s.Columns < 2 || s.Trials < s.Least() {
		return 0
	}
	found, mass := 0, signMass(upTo(s.Trials))
	rng := rand.New(rand.NewPCG(uint64(s.Columns), uint64(s.Trials)))
	values := make([][][]float64, s.Columns) // by column and metric
	for range draws {
		for c := range values {
			values[c] = make([][]float64, max(s.Metrics, 1))
			for m := range values[c] {
				by := 0.0
				if c == 0 && m < max(s.Moved, 1) {
					by = shift
				}
				for range s.Trials {
					values[c][m] = append(values[c][m], rng.NormFloat64()*spread+by)
				}
			}
		}
		found += s.named(values, mass)
	}
	return float64(found) / draws / float64(s.Columns-1)
}

// named counts the columns from which the first one is told apart.
func (s Screen) named(values [][][]float64, mass []float64) (n int) {
	var ps, within []float64 // of the first metric, and adjusted over the metrics
	for a := range values {
		for b := a + 1; b < len(values); b++ {
			var all []float64
			for m := range values[a] {
				if m > 0 && a > 0 {
					break // only pairs of the first column are counted
				}
				d := make([]float64, s.Trials)
				for i := range d {
					d[i] = values[b][m][i] - values[a][m][i]
				}
				all = append(all, untiedP(d, mass))
			}
			ps, within = append(ps, all[0]), append(within, Holm(all)[0])
		}
	}
	for len(ps) < s.pairs() {
		ps = append(ps, 1)
	}
	for i, p := range Holm(ps)[:len(values)-1] {
		if max(p, within[i]) <= s.Alpha {
			n++
		}
	}
	return n
}

// untiedP is the two-sided p-value of differences without ties.
func untiedP(d []float64, mass []float64) float64 {
	slices.SortFunc(d, func(a, b float64) int {
		if math.Abs(a) < math.Abs(b) {
			return -1
		}
		return 1
	})
	sum := 0
	for i, v := range d {
		if v > 0 {
			sum += i + 1
		}
	}
	below, above := tails(mass, sum)
	return min(1, 2*below, 2*above)
}

// upTo returns the ranks 1 to n.
func upTo(n int) (ranks []int) {
	for i := range n {
		ranks = append(ranks, i+1)
	}
	return ranks
}

// Needed returns the least number of interleaved runs of each column with which a screen
// finds the shift with a chance of 80 %: at most most, 0 if those are too few.
func (s Screen) Needed(shift, spread float64, most int) int {
	for s.Trials = s.Least(); s.Trials <= most; s.Trials++ {
		if s.Power(shift, spread) >= power {
			return s.Trials
		}
	}
	return 0
}
