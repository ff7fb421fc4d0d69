package selfcheck

import (
	"context"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

const (
	// spacing is the time between the end of one wait and the next.
	spacing = time.Millisecond
	// waitFor bounds the time for which waits are measured: twice as many as a p99 needs, because
	// an overshoot by more than the spacing skips waits.
	waitFor = 2000 * spacing
)

// timerLateness measures how late Go timers fire, for waits that end a millisecond apart.
func timerLateness(ctx context.Context, d time.Duration) (results.Spread, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var late []int64
	start := time.Now()
	for due := spacing; due <= d; {
		timer.Reset(time.Until(start.Add(due)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return results.Spread{}, context.Cause(ctx)
		}
		at := time.Since(start)
		late = append(late, int64(at-due))
		due = max(due+spacing, at.Truncate(spacing)+spacing) // due times passed meanwhile are skipped
	}
	slices.Sort(late)
	return results.Spread{
		N: int64(len(late)), P50: nearestRank(late, 0.5), P99: nearestRank(late, 0.99), P999: nearestRank(late, 0.999), Max: nearestRank(late, 1),
	}, nil
}

// clientLateness measures the same for one engine client.
func clientLateness(ctx context.Context, d time.Duration) (results.Spread, error) {
	p, err := pace(ctx, 1, float64(time.Second/spacing), d)
	return p.Lateness, err
}
