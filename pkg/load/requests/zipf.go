package requests

import "math"

// zipf draws ranks from [0, n) with exponent zipfTheta (Gray et al., "Quickly
// generating billion-record synthetic databases", SIGMOD 1994, as used by YCSB).
type zipf struct {
	n                float64
	zeta, alpha, eta float64
	second           float64 // 1 + 0.5^theta
}

const zipfTheta = 0.99

func newZipf(n int64) zipf {
	zeta2 := 1 + math.Pow(0.5, zipfTheta)
	z := zipf{n: float64(n), alpha: 1 / (1 - zipfTheta), zeta: zetaOf(n), second: zeta2}
	z.eta = (1 - math.Pow(2/z.n, 1-zipfTheta)) / (1 - zeta2/z.zeta)
	return z
}

// zetaOf returns the sum of 1/k^theta for k to n. Beyond the first hundred thousand terms the
// integral with its end correction (Euler and Maclaurin) continues the sum, exact to twelve
// digits there.
func zetaOf(n int64) float64 {
	exact := min(n, 100_000)
	var sum float64
	for k := int64(1); k <= exact; k++ {
		sum += math.Pow(float64(k), -zipfTheta)
	}
	if n == exact {
		return sum
	}
	a, b := float64(exact), float64(n)
	integral := (math.Pow(b, 1-zipfTheta) - math.Pow(a, 1-zipfTheta)) / (1 - zipfTheta)
	return sum + integral + (math.Pow(b, -zipfTheta)-math.Pow(a, -zipfTheta))/2
}

func (z *zipf) rank(draw uint64) int64 {
	u := float64(draw>>11) / (1 << 53)
	uz := u * z.zeta
	switch {
	case uz < 1 || z.n < 2:
		return 0
	case uz < z.second:
		return 1
	}
	return min(int64(z.n*math.Pow(z.eta*u-z.eta+1, z.alpha)), int64(z.n)-1)
}
