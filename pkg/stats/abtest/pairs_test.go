package abtest

import (
	"math"
	"testing"
)

// ranked returns n differences, of sizes 1 to n. Those at the given ranks are positive.
func ranked(n int, positive ...int) Pairs {
	d := make(Pairs, n)
	for i := range d {
		d[i] = -float64(i + 1)
	}
	for _, rank := range positive {
		d[rank-1] = float64(rank)
	}
	return d
}

// withSum returns n differences whose positive ranks have a sum.
func withSum(n, sum int) Pairs {
	var positive []int
	for rank := n; rank > 0; rank-- {
		if sum >= rank {
			positive = append(positive, rank)
			sum -= rank
		}
	}
	return ranked(n, positive...)
}

// TestSignedRankTables compares with the published critical values for Wilcoxon's signed rank: the
// largest sum at which the smaller tail is at most half the two-sided level.
func TestSignedRankTables(t *testing.T) {
	for _, tt := range []struct {
		level float64
		from  int
		sums  []int
	}{
		{.05, 6, []int{0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52, 58, 65, 73, 81, 89}},
		{.02, 7, []int{0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37, 43, 49, 55, 62, 69, 76}},
		{.01, 8, []int{0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37, 42, 48, 54, 61, 68}},
		{.10, 5, []int{0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 30, 35, 41, 47, 53, 60}},
	} {
		for i, sum := range tt.sums {
			n := tt.from + i
			if less, _ := withSum(n, sum).Test(0); less > tt.level/2 {
				t.Errorf("n = %d: P(W <= %d) = %.5f, the table has at most %g", n, sum, less, tt.level/2)
			}
			if less, _ := withSum(n, sum+1).Test(0); less <= tt.level/2 {
				t.Errorf("n = %d: P(W <= %d) = %.5f, the table has more than %g", n, sum+1, less, tt.level/2)
			}
		}
	}
}

// TestSignedRankAgainstSigns compares p-values with ties and zeros to all 2^n signs.
func TestSignedRankAgainstSigns(t *testing.T) {
	for _, d := range []Pairs{
		{1, 1, -1, 2, 2, -3, 0}, {0, 0, 1, 2, -2}, {-1, -1, -1, -1}, {0, 0, 0}, {.3, -.1, .2, .2, .2, -.3, .5, .1}, {},
	} {
		var ranks []float64
		observed := 0.0
		for _, v := range d {
			below, same := 0.0, 0.0
			for _, w := range d {
				if math.Abs(w) < math.Abs(v) {
					below++
				} else if math.Abs(w) == math.Abs(v) {
					same++
				}
			}
			if v == 0 {
				continue
			}
			rank := below + (same+1)/2
			ranks = append(ranks, rank)
			if v > 0 {
				observed += rank
			}
		}
		below, above, all := 0.0, 0.0, math.Exp2(float64(len(ranks)))
		for signs := range 1 << len(ranks) {
			sum := 0.0
			for i, rank := range ranks {
				if signs>>i&1 == 1 {
					sum += rank
				}
			}
			if sum <= observed {
				below++
			}
			if sum >= observed {
				above++
			}
		}
		less, greater := d.Test(0)
		if math.Abs(less-below/all) > 1e-12 || math.Abs(greater-above/all) > 1e-12 {
			t.Errorf("%v: p-values %v and %v, all signs give %v and %v", d, less, greater, below/all, above/all)
		}
	}
}

// TestShift compares with Hollander and Wolfe's depression scores (nine patients, W = 5, two-sided
// p = 0.0391), whose estimate is -0.46 with the 96.1 % interval -0.786 .. -0.010.
func TestShift(t *testing.T) {
	d := Pairs{.878 - 1.83, .647 - .50, .598 - 1.62, 2.05 - 2.48, 1.06 - 1.68, 1.29 - 1.88, 1.06 - 1.55, 3.14 - 3.06, 1.29 - 1.30}
	less, greater := d.Test(0)
	if math.Abs(2*less-.0390625) > 1e-9 || greater < .9 {
		t.Errorf("p-values %v and %v, the book has 0.0195 for less", less, greater)
	}
	if math.Abs(d.Shift()+.46) > 1e-9 {
		t.Errorf("estimate %v, the book has -0.46", d.Shift())
	}
	if low, high := d.Interval(.96); math.Abs(low+.786) > 1e-9 || math.Abs(high+.010) > 1e-9 {
		t.Errorf("interval %v .. %v, the book has -0.786 .. -0.010", low, high)
	}
}

// TestIntervalIsTheTest checks that an interval holds the shifts that the test does not
// reject, and no others.
func TestIntervalIsTheTest(t *testing.T) {
	const alpha = .05
	for _, s := range []Sample{
		Pairs{.02, -.013, .034, .051, -.008, .017, .0275, .0631},
		Groups{[]float64{.3, .1, .25, .7, .41}, []float64{.33, .52, .91, .64, .83, .47}},
	} {
		low, high := s.Interval(1 - alpha)
		rejected := func(shift float64) bool {
			less, greater := s.Test(shift)
			return 2*min(less, greater) <= alpha
		}
		const step = 1e-6
		for shift, want := range map[float64]bool{low - step: true, low + step: false, high - step: false, high + step: true} {
			if rejected(shift) != want {
				t.Errorf("%v: the shift %v rejected %v, the interval is %v .. %v", s, shift, !want, low, high)
			}
		}
	}
	if low, high := (Pairs{1, 2, 3}).Interval(.95); !math.IsInf(low, -1) || !math.IsInf(high, 1) {
		t.Errorf("three pairs bound a shift at 95 %%: %v .. %v", low, high)
	}
}

func TestLeast(t *testing.T) {
	for _, tt := range []struct {
		s     Sample
		alpha float64
		want  int
	}{{Pairs{}, .025, 6}, {Pairs{}, .0125, 7}, {Groups{}, .025, 4}, {Groups{}, .0125, 5}} {
		if got := tt.s.Least(tt.alpha); got != tt.want {
			t.Errorf("%T at %g: %d runs, want %d", tt.s, tt.alpha, got, tt.want)
		}
	}
}
