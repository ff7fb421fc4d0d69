package abtest

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/pkg/stats/rank"
)

// Sample is the evidence for one metric: [Pairs] or [Groups].
type Sample interface {
	// Size is the number of pairs, or of runs in the smaller group.
	Size() int
	// Test returns the exact one-sided p-values for a true shift less than, or greater than, shift.
	Test(shift float64) (less, greater float64)
	// Shift is the Hodges-Lehmann estimate; NaN without values.
	Shift() float64
	// Interval contains the true shift with at least this confidence. It is infinite if there are
	// too few runs to bound the shift.
	Interval(confidence float64) (low, high float64)
	// Spread is the standard deviation used by [Planned]; NaN for fewer than 2 values.
	Spread() float64
	// Least is the smallest size at which a one-sided p-value can be at most alpha.
	Least(alpha float64) int
}

// Pairs are ln B - ln A for runs made side by side, in the order in which they were made.
type Pairs []float64

var _ Sample = Pairs(nil)

func (d Pairs) Size() int { return len(d) }

// Test performs Wilcoxon's signed rank test on the differences less the shift, with the
// distribution over 2^n equally likely signs. Ties share their mean rank. A zero is ranked but has
// no sign (Pratt). The p-values are exact in both cases, given the sizes of the differences.
func (d Pairs) Test(shift float64) (less, greater float64) {
	sizes := make([]float64, len(d))
	for i, v := range d {
		sizes[i] = math.Abs(v - shift)
	}
	signed := make([]int, 0, len(d))
	sum := 0
	for i, r := range rank.Doubled(sizes, tied) {
		if sizes[i] <= tied {
			continue
		}
		signed = append(signed, r)
		if d[i] > shift {
			sum += r
		}
	}
	return tails(signMass(signed), sum)
}

// signMass returns the rank sum distribution if a fair coin decides whether each rank is included.
func signMass(ranks []int) []float64 {
	mass := []float64{1}
	for _, rank := range ranks {
		next := make([]float64, len(mass)+rank)
		for v, p := range mass {
			next[v] += p / 2
			next[v+rank] += p / 2
		}
		mass = next
	}
	return mass
}

// Shift returns the median over the means of any two differences, including each difference with
// itself.
func (d Pairs) Shift() float64 { return median(d.walsh()) }

// Interval consists of the shifts that the two-sided test does not reject.
func (d Pairs) Interval(confidence float64) (low, high float64) {
	ranks := make([]int, len(d))
	for i := range ranks {
		ranks[i] = i + 1
	}
	return orderInterval(d.walsh(), outside(signMass(ranks), (1-confidence)/2))
}

// walsh returns the sorted means of any two differences.
func (d Pairs) walsh() []float64 {
	means := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for j := range i + 1 {
			means = append(means, (d[i]+d[j])/2)
		}
	}
	slices.Sort(means)
	return means
}

// Spread returns the standard deviation of the differences.
func (d Pairs) Spread() float64 { return math.Sqrt(variance(d)) }

// Least follows from the 2^n signs, one of which is the most extreme.
func (d Pairs) Least(alpha float64) int {
	n := 1
	for math.Exp2(-float64(n)) > alpha {
		n++
	}
	return n
}

// variance returns the sample variance; NaN for fewer than 2 values.
func variance(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return squares / float64(len(values)-1)
}
