package abtest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Screen is a table whose columns are compared pairwise by one number: Columns databases with
// Trials interleaved runs each.
type Screen struct {
	Columns, Trials int
	// Pairs counts all pairwise comparisons if there are more than between these columns, because
	// the screen also compares other columns that are not comparable with these.
	Pairs int
	// Metrics counts the metrics that decide in each comparison; 0 means 1. Moved metrics differ
	// together, including the compared one: for example the throughput in every step.
	Metrics, Moved int
	// Alpha is the probability of any false difference over all column pairs.
	Alpha float64
}

// pairs returns the number of pairwise comparisons.
func (s Screen) pairs() int { return max(s.Pairs, s.Columns*(s.Columns-1)/2) }

// Least returns the fewest trials with which any difference can be named.
func (s Screen) Least() int {
	return Pairs(nil).Least(s.Alpha / 2 / float64(max(s.pairs(), s.Metrics)))
}

// Power returns the probability that a screen distinguishes a column from another if it differs
// from all others by shift and runs in a column deviate by spread. Both are differences between
// logarithms. It is simulated with normal deviations and a fixed seed; 1,000 draws leave one or two
// percentage points of noise.
func (s Screen) Power(shift, spread float64) float64 {
	const draws = 1_000
	if s.Columns < 2 || s.Trials < s.Least() {
		return 0
	}
	found, d := 0, s.drawing()
	rng := rand.New(rand.NewPCG(uint64(s.Columns), uint64(s.Trials)))
	for range draws {
		d.draw(rng, shift, spread)
		found += d.named()
	}
	return float64(found) / draws / float64(s.Columns-1)
}

// drawing is a screen with simulated runs. The next draw reuses its memory.
type drawing struct {
	Screen
	values [][][]float64 // by column, metric and trial
	// twoSided has p-values by the rank sum over positive differences.
	twoSided []float64
	// ps are the p-values for all column pairs by the first metric, those with the first column
	// first. metrics are those for one pair.
	ps, metrics []float64
	sizes       []uint64
}

func (s Screen) drawing() *drawing {
	d := &drawing{
		Screen:  s,
		values:  make([][][]float64, s.Columns),
		ps:      make([]float64, s.pairs()),
		metrics: make([]float64, max(s.Metrics, 1)),
		sizes:   make([]uint64, s.Trials),
	}
	for c := range d.values {
		for range d.metrics {
			d.values[c] = append(d.values[c], make([]float64, s.Trials))
		}
	}
	mass := signMass(upTo(s.Trials))
	for sum := range mass {
		below, above := tails(mass, sum)
		d.twoSided = append(d.twoSided, min(1, 2*below, 2*above))
	}
	return d
}

// draw simulates runs for all columns. The first column differs by the shift.
func (d *drawing) draw(rng *rand.Rand, shift, spread float64) {
	for c, column := range d.values {
		for m, trials := range column {
			by := 0.0
			if c == 0 && m < max(d.Moved, 1) {
				by = shift
			}
			for i := range trials {
				trials[i] = rng.NormFloat64()*spread + by
			}
		}
	}
}

// named counts the columns that the first one is distinguished from.
func (d *drawing) named() (n int) {
	at := 0
	for a := range d.values {
		for b := a + 1; b < len(d.values); b++ {
			d.ps[at] = d.untiedP(d.values[a][0], d.values[b][0])
			at++
		}
	}
	for ; at < len(d.ps); at++ {
		d.ps[at] = 1
	}
	for i, p := range Holm(d.ps)[:len(d.values)-1] {
		if p <= d.Alpha && d.within(i+1) {
			n++
		}
	}
	return n
}

// within reports whether the first column is distinguished from column b by the first metric,
// adjusted over all metrics.
func (d *drawing) within(b int) bool {
	n := float64(len(d.metrics))
	if n*d.ps[b-1] <= d.Alpha {
		return true // regardless of the other metrics: Holm's factor cannot be larger
	}
	for m := range d.metrics {
		d.metrics[m] = d.untiedP(d.values[0][m], d.values[b][m])
	}
	return Holm(d.metrics)[0] <= d.Alpha
}

// untiedP returns the two-sided p-value for the differences y - x, which have no ties.
func (d *drawing) untiedP(x, y []float64) float64 {
	for i := range x {
		// Bit patterns sort like the sizes they encode. The sign bit is shifted out, and the lowest
		// bit records whether the difference is positive.
		v := y[i] - x[i]
		d.sizes[i] = math.Float64bits(v) << 1
		if v > 0 {
			d.sizes[i]++
		}
	}
	slices.Sort(d.sizes)
	sum := 0
	for i, size := range d.sizes {
		sum += int(size&1) * (i + 1)
	}
	return d.twoSided[sum]
}

// upTo returns the ranks 1 to n.
func upTo(n int) (ranks []int) {
	for i := range n {
		ranks = append(ranks, i+1)
	}
	return ranks
}

// Needed returns the fewest interleaved runs per column that let a screen find the shift with 80 %
// probability. It tries up to most, and returns 0 if that is too few.
func (s Screen) Needed(shift, spread float64, most int) int {
	for s.Trials = s.Least(); s.Trials <= most; s.Trials++ {
		if s.Power(shift, spread) >= power {
			return s.Trials
		}
	}
	return 0
}
