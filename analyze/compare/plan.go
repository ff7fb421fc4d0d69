package compare

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/coreos/dbtester/pkg/abtest"
)

// AssumedSpread is the standard deviation of the differences within pairs that plans
// assume before a pair was made, as a share: that of the noisier host of
// test-results/verdicts.md.
const AssumedSpread = .034

// chance is that of finding what a plan names.
const chance = "a chance of 80 %"

// mostPairs leaves room for the block that confirms.
const mostPairs = abtest.MaxGroup - block

// Budget is the time that a session may take.
type Budget struct {
	// Time is the whole budget; 0 is none.
	Time time.Duration
	// Pair is how long a pair takes, as far as that is known before; 0 if it is not.
	Pair time.Duration
	// Elapsed is the time since the session began.
	Elapsed func() time.Duration
}

// Fit returns how many pairs fit into a budget beside the block that confirms: an even
// number, which may be 0.
func Fit(budget, pair time.Duration) int {
	return min(max(int(budget/pair)-block, 0)/block*block, mostPairs)
}

// least returns the smallest even number of pairs at which a difference can be found.
func least(metrics int) int {
	n := abtest.Pairs(nil).Least(Alpha / 2 / float64(max(metrics, 1)))
	return (n + block - 1) / block * block
}

// check returns an error if the budget is too small for any difference to be found.
func (b *Budget) check(metrics int) error {
	switch {
	case b.Time < 0:
		return fmt.Errorf("budget must be positive, got %v", b.Time)
	case b.Time == 0 || b.Pair == 0:
		return nil
	case b.Elapsed == nil:
		return errors.New("a budget needs a clock")
	}
	if n := least(metrics); Fit(b.Time, b.Pair) < n {
		return fmt.Errorf("budget must allow %d pairs and %d more to confirm, about %v, got %v", n, block, (time.Duration(n+block) * b.Pair).Round(time.Second), b.Time)
	}
	return nil
}

// begin plans with what is known before the first pair.
func (s *Session) begin() {
	if s.Budget.Time > 0 {
		s.Pairs = block
		if s.Budget.Pair == 0 {
			s.Say(fmt.Sprintf("The first %d pairs show how many fit into %v.", block, s.Budget.Time))
			return
		}
		s.Pairs = Fit(s.Budget.Time, s.Budget.Pair)
		s.Say(fmt.Sprintf("%d pairs of about %v each, and %d more if B seems worse, fit into %v.", s.Pairs, s.Budget.Pair.Round(time.Second), block, s.Budget.Time))
	}
	s.Say(reach(s.Pairs, AssumedSpread, len(s.Metrics), "as is assumed"))
}

// replan plans with the time that the first block took, never with its values. How much
// its pairs deviate is stated.
func (s *Session) replan(first *Report) {
	if s.Budget.Time > 0 {
		pair := max(s.Budget.Elapsed()/block, time.Millisecond)
		s.Pairs = max(Fit(s.Budget.Time, pair), block)
		s.Say(fmt.Sprintf("A pair takes %v: %d pairs, and %d more if B seems worse, fit into %v.", pair.Round(time.Second), s.Pairs, block, s.Budget.Time))
		if n := least(len(s.Metrics)); s.Pairs < n {
			s.Say(fmt.Sprintf("%d pairs find no difference of any size: %d are needed, about %v.", s.Pairs, n, (time.Duration(n+block) * pair).Round(time.Second)))
		}
	}
	for _, f := range first.Findings {
		if spread := f.Sample.Spread(); f.Decides && !math.IsNaN(spread) && s.Pairs > block {
			s.Say(f.Name + ": " + reach(s.Pairs, spread, len(s.Metrics), fmt.Sprintf("as the first %d did", block)))
		}
	}
	s.Until = max(s.Until, s.Pairs)
}

// reach describes the change that n pairs find if they deviate so much.
func reach(n int, spread float64, metrics int, why string) string {
	shift := abtest.Detectable(abtest.Pairs(nil), n, spread, Alpha, metrics)
	if math.IsInf(shift, 0) {
		return fmt.Sprintf("%d pairs find no change of any size: at least %d are needed.", n, least(metrics))
	}
	return fmt.Sprintf("%d pairs find a change of %s with %s if they deviate by %s, %s.", n, percentText(round(Percent(shift))), chance, percentText(round(100*spread)), why)
}

// round keeps two significant digits, and whole numbers.
func round(v float64) float64 {
	if v == 0 || v >= 10 {
		return math.Round(v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}
