package abtest

import (
	"fmt"
	"math"
	"slices"
)

// Verdict compares B with A.
type Verdict string

const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Equivalent Verdict = "equivalent"
	// Inconclusive means that neither a difference nor its absence is shown.
	Inconclusive Verdict = "inconclusive"
)

// Rule must be fixed before the first run.
type Rule struct {
	// Alpha is the probability of any false difference over all deciding metrics and all looks:
	// more than 0, less than 0.5.
	Alpha float64
	// Margin is the largest difference that does not matter, as a share: with 0.03, B is equivalent
	// between 1/1.03 and 1.03 times A. It must be above 0.
	Margin float64
	// Looks are the ascending numbers of pairs at which the tests look. Empty means one look, at
	// the actual sample size. Groups always have one look.
	Looks []int
}

// Metric is one number for the runs on both sides.
type Metric struct {
	Name           string
	HigherIsBetter bool
	// Decides is set for metrics that were declared in advance. Others are estimated without a
	// verdict.
	Decides bool
	Sample  Sample
}

// Finding is the result for one metric. Shifts are in ln B - ln A.
type Finding struct {
	Metric
	// Verdict is empty for a metric that does not decide.
	Verdict Verdict
	// Shift is enclosed by Low and High with confidence 1 - Alpha, for this metric and this look
	// alone. Bounds may be infinite.
	Shift, Low, High float64
	// P is the two-sided p-value for no shift after all looks, and Adjusted is P after Holm.
	// Outside is the p-value for a shift outside the margin.
	P, Adjusted, Outside float64
	// More is roughly the number of further pairs, or runs per group, needed to decide. It is 0 if
	// the metric is decided, if the sample is smaller than [MinPlan], or if Reach is set.
	More int
	// Reach is set if more than [MaxGroup] would be needed, because the machine is too noisy for
	// the margin. It is the margin, as a share, that the existing runs can decide.
	Reach float64
}

// Result is the verdict over all deciding metrics.
type Result struct {
	Verdict  Verdict
	Findings []Finding // in metric order
	// Reasons explain what limits the findings.
	Reasons []string
}

// Judge applies the rule. The whole is worse if any metric is worse; otherwise inconclusive if any
// is inconclusive; otherwise better if any is better; otherwise equivalent.
func Judge(rule Rule, metrics []Metric) Result {
	var result Result
	var ps []float64
	for _, m := range metrics {
		f := rule.find(m)
		result.Findings = append(result.Findings, f)
		if m.Decides {
			ps = append(ps, f.P)
		}
	}
	adjusted := Holm(ps)
	for i := range result.Findings {
		f := &result.Findings[i]
		if !f.Decides {
			f.Adjusted = math.NaN()
			continue
		}
		f.Adjusted, adjusted = adjusted[0], adjusted[1:]
		f.Verdict = rule.verdict(f)
		if f.Verdict == Inconclusive {
			f.More, f.Reach = rule.more(f.Sample, len(ps))
			if least := f.Sample.Least(rule.Alpha / 2 / float64(len(ps))); f.Sample.Size() < least {
				result.Reasons = append(result.Reasons, fmt.Sprintf("%s: a difference of any size needs at least %s", f.Name, sizeText(f.Sample, least)))
			}
		}
	}
	result.Verdict = overall(result.Findings)
	return result
}

// sizeText formats a sample size with its unit.
func sizeText(s Sample, n int) string {
	if _, paired := s.(Pairs); paired {
		return fmt.Sprintf("%d pairs", n)
	}
	return fmt.Sprintf("%d runs of each", n)
}

// find estimates and tests one metric.
func (r Rule) find(m Metric) Finding {
	f := Finding{Metric: m, Shift: m.Sample.Shift(), P: 1, Outside: 1}
	f.Low, f.High = m.Sample.Interval(1 - r.Alpha)
	for _, s := range r.looksAt(m.Sample) {
		less, greater := s.Test(0)
		_, aboveLow := s.Test(-r.bound())
		belowHigh, _ := s.Test(r.bound())
		f.P, f.Outside = min(f.P, 2*less, 2*greater), min(f.Outside, max(aboveLow, belowHigh))
	}
	if len(r.Looks) > 1 {
		if _, paired := m.Sample.(Pairs); paired {
			price := priceOf(r.Looks)
			f.P, f.Outside = price.of(f.P, price.twoSided), price.of(f.Outside, price.oneSided)
		}
	}
	return f
}

// bound returns the margin as a difference between logarithms.
func (r Rule) bound() float64 { return math.Log1p(r.Margin) }

// looksAt returns the sample as it was at each look so far. Pairs after the last look belong to no
// look.
func (r Rule) looksAt(s Sample) []Sample {
	pairs, ok := s.(Pairs)
	if !ok || len(r.Looks) == 0 {
		return []Sample{s}
	}
	var out []Sample
	for _, n := range r.Looks {
		if n <= len(pairs) {
			out = append(out, pairs[:n])
		}
	}
	return out
}

// verdict returns the verdict for a deciding metric.
func (r Rule) verdict(f *Finding) Verdict {
	switch {
	case f.Outside <= r.Alpha:
		return Equivalent
	case f.Adjusted > r.Alpha || f.Shift == 0:
		return Inconclusive
	case f.HigherIsBetter == (f.Shift > 0):
		return Better
	}
	return Worse
}

// more rounds up to whole blocks, each with two pairs. If too many would be needed, it returns the
// margin that the existing runs can decide.
func (r Rule) more(s Sample, metrics int) (more int, reach float64) {
	planned := Planned(s, r.Alpha, r.bound(), metrics)
	switch {
	case planned == 0:
		return 0, 0
	case planned > MaxGroup:
		return 0, math.Expm1(Decidable(s, r.Alpha))
	}
	more = max(planned-s.Size(), 1)
	if _, paired := s.(Pairs); paired {
		more += more % 2
	}
	return more, 0
}

// overall returns the verdict for the whole.
func overall(findings []Finding) Verdict {
	for _, v := range []Verdict{Worse, Inconclusive, Better, Equivalent} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Verdict == v }) {
			return v
		}
	}
	return Inconclusive // no metric decides
}

// Holm adjusts p-values so that, with probability at most alpha, any false one is at or below
// alpha, whatever their dependence. It keeps their order.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if ps[a] < ps[b] {
			return -1
		}
		if ps[a] > ps[b] {
			return 1
		}
		return 0
	})
	out := make([]float64, len(ps))
	highest := 0.0
	for k, i := range order {
		highest = max(highest, min(1, float64(len(ps)-k)*ps[i]))
		out[i] = highest
	}
	return out
}

// Confirm judges a [Worse] result again with one more block of pairs, found at the end of metrics.
// A metric stays worse if the mean difference in the block is also worse and the test over all
// pairs, at the full alpha, still finds a difference. Otherwise it becomes inconclusive. A
// confirmation can only withdraw the verdict worse, so it needs no share of alpha.
func Confirm(rule Rule, before Result, metrics []Metric, block int) Result {
	after := Result{Reasons: slices.Clone(before.Reasons)}
	one := Rule{Alpha: rule.Alpha, Margin: rule.Margin}
	for i, f := range before.Findings {
		pairs, paired := metrics[i].Sample.(Pairs)
		if f.Verdict != Worse || !paired || len(pairs) < block {
			after.Findings = append(after.Findings, f)
			continue
		}
		again := one.find(metrics[i])
		again.Adjusted, again.Verdict = f.Adjusted, Worse
		mean := 0.0
		for _, d := range pairs[len(pairs)-block:] {
			mean += d / float64(block)
		}
		better := mean > 0 == f.HigherIsBetter
		if mean == 0 || better || again.P > rule.Alpha {
			more, reach := rule.more(pairs, 1)
			again.Verdict, again.More, again.Reach = Inconclusive, more, reach
			if reach == 0 {
				again.More = max(block, more)
			}
			after.Reasons = append(after.Reasons, f.Name+": worse, but one more block did not confirm it")
		}
		after.Findings = append(after.Findings, again)
	}
	after.Verdict = overall(after.Findings)
	return after
}
