package abtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
)

// looksSeed and looksDraws fix the simulation that computes what looking costs. Its error is 0.1 %
// where p is 5 %.
const (
	looksSeed  = 5
	looksDraws = 50_000
)

// price is the null distribution of the smallest p-value over several looks.
type price struct{ oneSided, twoSided []float64 } // sorted

// prices caches prices by looks, because one plan judges many times.
var prices sync.Map // maps string to func() *price

// priceOf returns the distribution for ascending numbers of pairs.
//
// Without a shift, the sign of a difference is a fair coin, and the rank of its size among the
// earlier ones is uniform. So the joint distribution of the p-values at all looks does not depend
// on that of the differences, and drawing signs and ranks gives it.
func priceOf(looks []int) *price {
	made, _ := prices.LoadOrStore(fmt.Sprint(looks), sync.OnceValue(func() *price { return drawPrice(looks) }))
	return made.(func() *price)()
}

func drawPrice(looks []int) *price {
	upper := make([][]float64, len(looks)) // P(W >= w) by look and w
	for k, n := range looks {
		upper[k] = upperTails(n)
	}
	rng := rand.New(rand.NewPCG(looksSeed, 0))
	p := &price{make([]float64, looksDraws), make([]float64, looksDraws)}
	last := looks[len(looks)-1]
	for i := range looksDraws {
		signs := make([]bool, 0, last) // ordered by size
		one, two := 1.0, 1.0
		for k, n := range looks {
			for len(signs) < n {
				signs = slices.Insert(signs, rng.IntN(len(signs)+1), rng.IntN(2) == 0)
			}
			sum := 0
			for rank, positive := range signs {
				if positive {
					sum += rank + 1
				}
			}
			greater, less := upper[k][sum], upper[k][n*(n+1)/2-sum]
			one, two = min(one, greater), min(two, 2*greater, 2*less)
		}
		p.oneSided[i], p.twoSided[i] = one, two
	}
	slices.Sort(p.oneSided)
	slices.Sort(p.twoSided)
	return p
}

// upperTails returns P(W >= w) for n pairs without ties.
func upperTails(n int) []float64 {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	mass := signMass(ranks)
	for w := len(mass) - 2; w >= 0; w-- {
		mass[w] += mass[w+1]
	}
	return mass
}

// Level returns the largest two-sided p-value in a single look that counts as a difference, if the
// probability for a false one over all looks is at most alpha. It is alpha with at most one look,
// and 0 if no p-value counts.
func Level(looks []int, alpha float64) float64 {
	if len(looks) < 2 {
		return alpha
	}
	price := priceOf(looks)
	drawn := price.twoSided
	first := sort.Search(len(drawn), func(i int) bool { return price.of(drawn[i], drawn) > alpha })
	if first == 0 {
		return 0
	}
	return drawn[first-1]
}

// of returns the probability that the smallest p-value is at most smallest.
func (p *price) of(smallest float64, drawn []float64) float64 {
	at, _ := slices.BinarySearchFunc(drawn, smallest*(1+1e-9), func(v, bound float64) int {
		if v <= bound {
			return -1
		}
		return 1
	})
	return float64(at+1) / float64(len(drawn)+1)
}
