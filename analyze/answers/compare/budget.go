package compare

import (
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Budget is the time that a session may take.
type Budget struct {
	// Time is the whole budget; 0 means no budget.
	Time time.Duration
	// Pair is the expected duration for two runs; 0 if unknown.
	Pair time.Duration
	// Elapsed returns the time since any fixed moment. A session with a budget needs it, and counts
	// from its first run.
	Elapsed func() time.Duration
}

// Fit returns the number of pairs that fit into a budget in addition to the confirming block: an
// even number, possibly 0.
func Fit(budget, pair time.Duration) int {
	return min(max(int(budget/pair)-block, 0)/block*block, mostPairs)
}

// least returns the smallest even number of pairs that can show a difference.
func least(metrics int) int {
	n := abtest.Pairs(nil).Least(Alpha / 2 / float64(max(metrics, 1)))
	return (n + block - 1) / block * block
}

// check fails if the budget is too small to show any difference.
func (b *Budget) check(metrics int) error {
	switch {
	case b.Time < 0:
		return fmt.Errorf("budget must be positive, got %v", b.Time)
	case b.Time == 0:
		return nil
	case b.Elapsed == nil:
		return errors.New("a budget needs a clock")
	case b.Pair <= 0:
		return nil
	}
	if n := least(metrics); Fit(b.Time, b.Pair) < n {
		return fmt.Errorf("budget must allow %d pairs and %d more to confirm, about %v, got %v", n, block, (time.Duration(n+block) * b.Pair).Round(time.Second), b.Time)
	}
	return nil
}

// mostPairs leaves room for the confirming block.
const mostPairs = abtest.MaxGroup - block

// block is the number of pairs made at a time, A B B A or B A A B, and of those that confirm the
// verdict worse.
const block = 2
