package abtest

import "math"

// power is the probability that plans find the stated difference.
const power = .8

// rankCost is the factor by which a rank test needs more pairs than Student's test if the spread is
// normal: its efficiency is 3 / pi.
const rankCost = math.Pi / 3

// normal returns a quantile of the standard normal distribution.
func normal(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Detectable returns the shift that n pairs (or groups of n runs) find with 80 % probability, given
// this spread. It is infinite if n runs can find no shift.
func Detectable(s Sample, n int, spread, alpha float64) float64 {
	if n < s.Least(alpha/2) {
		return math.Inf(1)
	}
	return (normal(1-alpha/2) + normal(power)) * spread * math.Sqrt(rankCost/float64(n))
}

// MinPlan is the smallest sample size whose spread can be used for a plan.
const MinPlan = 5

// Decidable returns the margin, as a difference between logarithms, inside which pairs (or groups)
// of the sample size show the shift with 80 % probability, given its shift and spread. It is 0 if
// the sample is smaller than [MinPlan].
func Decidable(s Sample, alpha float64) float64 {
	if s.Size() < MinPlan {
		return 0
	}
	return math.Abs(s.Shift()) + (normal(1-alpha)+normal((1+power)/2))*s.Spread()*math.Sqrt(rankCost/float64(s.Size()))
}

// Planned returns the approximate number of pairs (or runs per group) that decide with 80 %
// probability, given the shift and spread in the sample. It is the smaller of two numbers: enough
// to find the shift, and enough to show that it lies inside the margin. It is 0 if the sample is
// smaller than [MinPlan], and at most 9,999.
func Planned(s Sample, alpha, margin float64, metrics int) int {
	const most = 9_999
	spread, shift := s.Spread(), math.Abs(s.Shift())
	if math.IsNaN(spread) || s.Size() < MinPlan {
		return 0
	}
	share := alpha / float64(max(metrics, 1))
	find := needed(normal(1-share/2)+normal(power), spread, shift)
	inside := math.Inf(1)
	if shift < margin {
		inside = needed(normal(1-alpha)+normal((1+power)/2), spread, margin-shift)
	}
	n := max(math.Ceil(min(find, inside, most)), float64(min(s.Least(share/2), most)))
	return int(n)
}

// needed returns the size at which a shift equals so many standard errors.
func needed(errors, spread, shift float64) float64 {
	if shift == 0 {
		return math.Inf(1)
	}
	ratio := errors * spread / shift
	return rankCost * ratio * ratio
}
