package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// AssumedSpread is the standard deviation among differences within pairs, as a share, that plans
// assume before the first pair: the value for the noisier host in test-results/verdicts.md.
const AssumedSpread = .034

// chance is the power of a plan.
const chance = "a chance of 80 %"

// begin plans before the first pair.
func (s *Session) begin() {
	if s.Budget.Time > 0 {
		s.began = s.Budget.Elapsed()
		s.Pairs, s.Until = block, 0
		if s.Budget.Pair <= 0 {
			s.Say(fmt.Sprintf("The first %d pairs will show how many fit into %v.", block, s.Budget.Time))
			return
		}
		s.Pairs = Fit(s.Budget.Time, s.Budget.Pair)
		s.Say(fmt.Sprintf("%d pairs of about %v each, and %d more if B seems worse, fit into %v.", s.Pairs, s.Budget.Pair.Round(time.Second), block, s.Budget.Time))
	}
	s.Until = max(s.Until, s.Pairs)
	s.Say(s.reach(AssumedSpread, s.deciding(), "as assumed"))
}

// replan uses the duration of the first block, never its values.
func (s *Session) replan(first *Report) {
	metrics := 0
	for _, f := range first.Findings {
		if f.Decides {
			metrics++
		}
	}
	if s.Budget.Time > 0 {
		pair := max((s.Budget.Elapsed()-s.began)/block, time.Millisecond)
		s.Pairs = max(Fit(s.Budget.Time, pair), block)
		s.Until = s.Pairs
		s.Say(fmt.Sprintf("A pair takes %v: %d pairs, and %d more if B seems worse, fit into %v.", pair.Round(time.Second), s.Pairs, block, s.Budget.Time))
		if n := least(metrics); s.Pairs < n {
			s.Say(fmt.Sprintf("%d pairs cannot show a difference of any size: %d are needed, about %v.", s.Pairs, n, (time.Duration(n+block) * pair).Round(time.Second)))
		}
	}
	if s.Until > block {
		s.Say(fmt.Sprintf("%d pairs are too few to plan from their spread: at least %d are needed.", block, abtest.MinPlan))
	}
}

// deciding returns the number of deciding metrics known before the first run.
func (s *Session) deciding() (n int) {
	if slices.ContainsFunc(s.Metrics, func(m string) bool { return slices.Contains(alone(), m) }) {
		return 1 // or one for each fault, which is not known yet
	}
	for _, d := range definitions() {
		if slices.Contains(s.Metrics, d.name) {
			n++
		}
	}
	return n * max(s.Stages, 1)
}

// looks returns the pair counts after which the session may end; nil if there is only one.
func (s *Session) looks() (list []int) {
	for n := s.Pairs; n <= s.Until && s.Until > s.Pairs; n += block {
		list = append(list, n)
	}
	return list
}

// reach describes the change that the session finds if its pairs deviate by spread. It is computed
// for the last look; the more looks, the larger the change must be.
func (s *Session) reach(spread float64, metrics int, why string) string {
	n := fmt.Sprintf("%d pairs", s.Until)
	if s.Until > s.Pairs {
		n = "Up to " + n
	}
	level := abtest.Level(s.looks(), Alpha/float64(max(metrics, 1)))
	shift := abtest.Detectable(abtest.Pairs(nil), s.Until, spread, level)
	if math.IsInf(shift, 0) {
		return fmt.Sprintf("%s cannot show a change of any size: at least %d are needed.", n, max(least(metrics), s.Until+block))
	}
	return fmt.Sprintf("%s show a change of %s with %s if their spread is %s, %s.", n, percentText(round(Percent(shift))), chance, percentText(round(100*spread)), why)
}
