package abtest

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/pkg/stats/rank"
)

// Groups are ln A and ln B for runs that were not made side by side. Any change on the host between
// the two groups looks like a difference between A and B.
type Groups struct{ A, B []float64 }

var _ Sample = Groups{}

// MaxGroup is the largest group size whose test is computed almost instantly.
const MaxGroup = 60

func (g Groups) Size() int { return min(len(g.A), len(g.B)) }

// Test performs Wilcoxon's rank sum test (Mann-Whitney) on B less the shift, with the distribution
// over all equally likely ways to divide the ranks into two groups. Ties share their mean rank.
func (g Groups) Test(shift float64) (less, greater float64) {
	all := slices.Clone(g.A)
	for _, v := range g.B {
		all = append(all, v-shift)
	}
	ranks := rank.Doubled(all, tied)
	sum := 0
	for _, rank := range ranks[len(g.A):] {
		sum += rank
	}
	return tails(drawMass(ranks, len(g.B)), sum)
}

// drawMass returns the distribution of the sum over k ranks drawn without replacement.
func drawMass(ranks []int, k int) []float64 {
	total := 0
	for _, rank := range ranks {
		total += rank
	}
	ways := make([][]float64, k+1) // by number drawn and sum
	for i := range ways {
		ways[i] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, rank := range ranks {
		for drawn := k; drawn > 0; drawn-- {
			for sum := total; sum >= rank; sum-- {
				ways[drawn][sum] += ways[drawn-1][sum-rank]
			}
		}
	}
	all := 0.0
	for _, n := range ways[k] {
		all += n
	}
	for sum := range ways[k] {
		ways[k][sum] /= all
	}
	return ways[k]
}

// Shift returns the median difference between any run in B and any run in A.
func (g Groups) Shift() float64 { return median(g.differences()) }

// Interval consists of the shifts that the two-sided test does not reject.
func (g Groups) Interval(confidence float64) (low, high float64) {
	n, m := len(g.A), len(g.B)
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i + 1
	}
	mass := drawMass(ranks, m)
	return orderInterval(g.differences(), outside(mass[m*(m+1)/2:], (1-confidence)/2))
}

// differences returns the sorted differences between any run in B and any run in A.
func (g Groups) differences() []float64 {
	all := make([]float64, 0, len(g.A)*len(g.B))
	for _, a := range g.A {
		for _, b := range g.B {
			all = append(all, b-a)
		}
	}
	slices.Sort(all)
	return all
}

// Spread returns the standard deviation of the difference between two single runs.
func (g Groups) Spread() float64 { return math.Sqrt(variance(g.A) + variance(g.B)) }

// Least assumes two equally large groups.
func (g Groups) Least(alpha float64) int {
	n, divisions := 1, 2.0
	for 1/divisions > alpha {
		n++
		divisions *= float64(2*n) * float64(2*n-1) / float64(n*n)
	}
	return n
}
