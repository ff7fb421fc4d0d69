package scrape

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// pastSecond is how long after each full second of the wall clock a member is queried, as for
// machine samples.
const pastSecond = 2 * time.Millisecond

// Run queries the member just after each second of the wall clock, and a last time when ctx ends,
// and writes the answers. Until the member has answered once, for example while it starts, failed
// queries are not written. Later failures are written with their error, as gaps. A late answer does
// not shift other queries; the seconds that it takes are skipped.
//
// Run ends at the first write error and returns it. Errors from the member do not end it.
func (s *Scraper) Run(ctx context.Context, w interface {
	Write(results.DatabaseSample) error
}) error {
	defer s.Close()
	answered := false
	timer := time.NewTimer(untilNext(time.Now()))
	defer timer.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-timer.C:
		}
		// Not ctx: the last query starts after ctx has ended, and has its own deadline.
		sample, err := s.Scrape(context.WithoutCancel(ctx))
		if answered = answered || err == nil; answered {
			if err := w.Write(sample); err != nil {
				return err
			}
		}
		timer.Reset(untilNext(time.Now()))
	}
	return nil
}

// untilNext returns the time until just after the next second of the wall clock.
func untilNext(now time.Time) time.Duration {
	return time.Second - time.Duration(now.Nanosecond()) + pastSecond
}
