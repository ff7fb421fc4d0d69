package drift

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Kendall's sum is distributed as over all orders of five values.
func TestProbability(t *testing.T) {
	counts := map[int]int{}
	var each func(order, rest []float64)
	each = func(order, rest []float64) {
		if len(rest) == 0 {
			_, sum := line{[]float64{0, 1, 2, 3, 4}, order}.slopes()
			counts[sum]++
		}
		for i, v := range rest {
			each(append(slices.Clone(order), v), slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	each(nil, []float64{1, 2, 3, 4, 5})
	for sum := -10; sum <= 10; sum += 2 {
		want := 0
		for other, n := range counts {
			if max(other, -other) >= max(sum, -sum) {
				want += n
			}
		}
		if got := probability(5, sum); math.Abs(got-float64(want)/120) > 1e-12 {
			t.Errorf("p of %d is %v, want %d of 120", sum, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	rising := make([]float64, 60)
	for i := range rising {
		rising[i] = 100 + 2*float64(i)
	}
	rising[7], rising[50] = math.NaN(), math.Inf(1)
	d, ok := Find(rising, Mean, 5, 1)
	if !ok || d.N != 58 || math.Abs(d.Slope-2) > 1e-9 || math.Abs(d.Low-2) > 1e-9 || math.Abs(d.High-2) > 1e-9 || d.P > 1e-5 {
		t.Errorf("a rising line has the drift %+v, want 2", d)
	}
	flat, ok := Find(make([]float64, 30), Median, 5, 1)
	if !ok || flat.Slope != 0 || flat.P != 1 || flat.Smallest != 0 {
		t.Errorf("a flat line has the drift %+v, want none", flat)
	}
	if d, ok := Find(rising[:30], Mean, 5, 1); ok || d.N != 29 {
		t.Errorf("29 known values have the drift %+v, want none", d)
	}
}

// If series have the smallest drift, about as many are found as promised, and the interval contains
// the drift.
func TestSmallest(t *testing.T) {
	const series = 200
	found, within := 0, 0
	for i := range uint64(series) {
		random := rand.New(rand.NewPCG(i, 1))
		noise := make([]float64, 120)
		for j := range noise {
			noise[j] = 100 + random.NormFloat64()
		}
		flat, _ := Find(noise, Median, 5, i)
		if flat.Low <= 0 && flat.High >= 0 {
			within++
		}
		planted := make([]float64, len(noise))
		for j := range planted {
			planted[j] = 100 + random.NormFloat64() + flat.Smallest*float64(j)
		}
		if d, _ := fit(planted, Median); 5*d.P < Level {
			found++
		}
	}
	t.Logf("%d of %d drifts of the smallest size are found, and %d intervals contain 0", found, series, within)
	if found < 0.8*series || within < (1-Level)*series {
		t.Errorf("%d drifts are found and %d intervals contain 0, want about %v and at least %v of %d", found, within, Power*series, (1-Level)*series, series)
	}
}
