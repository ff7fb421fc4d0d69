package abtest

import (
	"math"
	"testing"
)

// TestRankSumTable compares with published critical values for Mann and Whitney's U, two-sided at 5
// %.
func TestRankSumTable(t *testing.T) {
	for _, tt := range []struct{ n, m, u int }{
		{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {9, 9, 17}, {10, 10, 23}, {3, 5, 0}, {5, 8, 6}, {8, 10, 17}, {12, 15, 49}, {20, 20, 127},
	} {
		for u, want := range map[int]bool{tt.u: true, tt.u + 1: false} {
			less, _ := withU(tt.n, tt.m, u).Test(0)
			if got := less <= .025; got != want {
				t.Errorf("%d and %d: P(U <= %d) = %.5f; the table has the critical value %d", tt.n, tt.m, u, less, tt.u)
			}
		}
	}
}

// withU returns groups in which B is the larger one in u pairs of runs.
func withU(n, m, u int) Groups {
	g := Groups{A: make([]float64, n), B: make([]float64, m)}
	for i := range g.A {
		g.A[i] = float64(i)
	}
	for j := range g.B {
		above := min(u, n)
		u -= above
		g.B[j] = float64(above) - .5 + float64(j)/100
	}
	return g
}

// TestRankSumTies compares with all ways to divide tied values into two groups.
func TestRankSumTies(t *testing.T) {
	g := Groups{A: []float64{1, 2, 2, 3}, B: []float64{2, 3, 3}}
	all := append(append([]float64{}, g.A...), g.B...)
	rank := func(v float64) (r float64) {
		for _, w := range all {
			if w < v {
				r++
			} else if w == v {
				r += .5
			}
		}
		return r + .5
	}
	observed := rank(2) + 2*rank(3)
	var below, above, n float64
	for set := range 1 << len(all) {
		sum, k := 0.0, 0
		for i, v := range all {
			if set>>i&1 == 1 {
				sum, k = sum+rank(v), k+1
			}
		}
		if k != len(g.B) {
			continue
		}
		n++
		if sum <= observed {
			below++
		}
		if sum >= observed {
			above++
		}
	}
	if less, greater := g.Test(0); math.Abs(less-below/n) > 1e-12 || math.Abs(greater-above/n) > 1e-12 {
		t.Errorf("p-values %v and %v, all divisions give %v and %v", less, greater, below/n, above/n)
	}
}
