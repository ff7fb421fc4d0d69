// Package drift finds out whether a series of equal intervals, such as the p99 in each minute,
// rises or falls over its whole length, by how much, and the smallest drift that could have been
// found.
//
// Neighbouring values depend on each other, and saw-teeth (compactions, collected garbage) make
// values rise and fall again. Tests on single values then find drifts in flat series. So the series
// is cut into about ten parts, which are long compared with both, and only their centres are
// compared. Each pair of parts has a slope. The drift is the median slope (H. Theil, 1950; P. K.
// Sen, 1968). The test is Kendall's, with its exact distribution for so few values, and the
// interval contains the slopes that this test does not reject. Saw-teeth about as long as one part
// or a few would move slowly against the parts and look like a drift. They do so for one number of
// parts, so several numbers must agree.
package drift

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/coreos/dbtester/pkg/stats/order"
)

const (
	// Level is the probability below which a drift is not by chance, over all measures that
	// abtest.Holm corrects. The interval covers the drift with the probability 1 - Level.
	Level = 0.05
	// Least is the fewest known values that are judged: in fewer, each saw-tooth is a drift.
	Least = 30
	// Power is the probability that the smallest drift would have been found.
	Power = 0.9
	// shuffles is the number of orders to try for the smallest drift.
	shuffles = 200
)

// divisions are the numbers of parts that must agree.
var divisions = [...]int{10, 11, 13}

// Drift is a line through a series. Slopes are per interval.
type Drift struct {
	// N counts the known values. Median is their median.
	N      int
	Median float64
	// Slope is the drift. Low and High bound it.
	Slope, Low, High float64
	// P is the probability that a series without a drift shows so clear a one.
	P float64
	// Smallest is the smallest drift, in either direction, that would have been found with
	// probability [Power] in an equally uneven series.
	Smallest float64
}

// Center reduces the values in a part to one: [Median] or [Mean].
type Center func([]float64) float64

// Find finds the drift in a series. Unknown values are NaN. It returns the same for the same seed.
// It returns false if fewer than [Least] values are known. The number of measures tested together
// affects Smallest only: P is for this series alone, see abtest.Holm.
func Find(values []float64, center Center, measures int, seed uint64) (d Drift, ok bool) {
	d, lines := fit(values, center)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, l := range lines {
		d.Smallest = max(d.Smallest, l.smallest(Level/float64(max(measures, 1)), random))
	}
	return d, lines != nil
}

// fit returns the drift without Smallest, and the series in each division; nil if it is too short.
func fit(values []float64, center Center) (d Drift, lines []line) {
	var known, at []float64
	for i, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			known, at = append(known, v), append(at, float64(i))
		}
	}
	d.N = len(known)
	if d.N < Least {
		return d, nil
	}
	d.Median = Median(known)
	up, down := false, false
	for i, parts := range divisions {
		l := divide(at, known, parts, center)
		sorted, sum := l.slopes()
		least, most := interval(sorted, parts)
		if i == 0 {
			d.Slope, d.Low, d.High = order.Middle(sorted), least, most
		}
		d.Low, d.High = min(d.Low, least), max(d.High, most)
		d.P = max(d.P, probability(parts, sum))
		up, down = up || sum > 0, down || sum < 0
		lines = append(lines, l)
	}
	if up && down {
		d.P = 1
	}
	return d, lines
}

// line has the centres of the parts in a series, and their mean times.
type line struct{ at, values []float64 }

// divide cuts a series into parts as equal as possible.
func divide(at, values []float64, parts int, center Center) (l line) {
	for i := range parts {
		from, to := i*len(values)/parts, (i+1)*len(values)/parts
		l.at, l.values = append(l.at, Mean(at[from:to])), append(l.values, center(values[from:to]))
	}
	return l
}

// slopes returns the slopes between all pairs, ascending, and Kendall's sum: the number that rise
// less the number that fall.
func (l line) slopes() (sorted []float64, sum int) {
	for i := range l.values {
		for j := i + 1; j < len(l.values); j++ {
			s := (l.values[j] - l.values[i]) / (l.at[j] - l.at[i])
			sorted = append(sorted, s)
			switch {
			case s > 0:
				sum++
			case s < 0:
				sum--
			}
		}
	}
	slices.Sort(sorted)
	return sorted, sum
}

// smallest returns the smallest drift that would be found at a level if distances from the line
// came in any other order. Its probability is higher than [Power], so that all divisions find it
// with Power.
func (l line) smallest(level float64, random *rand.Rand) float64 {
	sorted, _ := l.slopes()
	slope := order.Middle(sorted)
	// The line follows the values, so they are closer to it than to the true one, and so few values
	// do not show their spread exactly.
	wider := float64(len(l.values)) / float64(len(l.values)-2)
	rest := line{l.at, make([]float64, len(l.values))}
	for i, v := range l.values {
		rest.values[i] = (v - slope*l.at[i]) * wider
	}
	// A drift adds to each slope, and is found once at most this many fall.
	falling := (len(l.values)*(len(l.values)-1)/2 - critical(len(l.values), level)) / 2
	needed := make([]float64, shuffles)
	for i := range needed {
		random.Shuffle(len(rest.values), func(a, b int) {
			rest.values[a], rest.values[b] = rest.values[b], rest.values[a]
		})
		sorted, _ := rest.slopes()
		needed[i] = max(0, -sorted[falling])
	}
	slices.Sort(needed)
	return needed[int(math.Ceil((1-(1-Power)/float64(len(divisions)))*shuffles))-1]
}

// interval returns the bounds on the drifts that the test does not reject at [Level].
func interval(sorted []float64, parts int) (low, high float64) {
	outside := (len(sorted) - critical(parts, Level)) / 2
	return sorted[outside], sorted[len(sorted)-1-outside]
}

// critical returns the smallest sum that is less probable than level.
func critical(n int, level float64) int {
	sum, counts := n*(n-1)/2, inversions(n)
	for sum > 1 && among(counts, n, sum-2) < level {
		sum -= 2
	}
	return sum
}

// probability returns the probability of a sum at least as far from 0 for n values in any order.
func probability(n, sum int) float64 { return among(inversions(n), n, sum) }

// among returns the [probability] from the [inversions] of n values.
func among(counts []float64, n, sum int) float64 {
	if sum < 0 {
		sum = -sum
	}
	// At most this many pairs are in descending order.
	most := (n*(n-1)/2 - sum) / 2
	p := 0.0
	for _, c := range counts[:most+1] {
		p += c
	}
	return min(1, 2*p)
}

// inversions returns, for each number of pairs in descending order, the share of all orders of n
// values that have it.
func inversions(n int) []float64 {
	counts := []float64{1}
	for size := 2; size <= n; size++ {
		next := make([]float64, len(counts)+size-1)
		for i, c := range counts {
			for j := range size {
				next[i+j] += c / float64(size)
			}
		}
		counts = next
	}
	return counts
}

// Median returns the median. There must be at least one value.
func Median(values []float64) float64 { return order.Middle(slices.Sorted(slices.Values(values))) }

// Mean returns the mean. There must be at least one value.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
