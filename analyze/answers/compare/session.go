package compare

import (
	"context"
	"time"
)

// Session makes the runs for a comparison alternately, so that they form pairs.
type Session struct {
	Options // without folders
	// Pairs are made first. While the result is inconclusive, blocks of two pairs follow, up to
	// Until. Both are even; Until is at least Pairs.
	Pairs, Until int
	// Budget, if set, determines Pairs.
	Budget Budget
	// Stages counts the stages with their own metrics; 0 means one.
	Stages int
	// Seed determines the order within each block; the same seed gives the same orders.
	Seed uint64
	// Make makes one run for side "A" or "B" and returns its result folder. Calls do not overlap.
	Make func(ctx context.Context, side string) (folder string, err error)
	// Say receives short messages about progress.
	Say func(text string)

	began time.Duration // by the clock of the budget
}
