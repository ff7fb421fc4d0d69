package scrape

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// pastSecond is how long after a second of the wall clock a member is asked, as for
// samples of the machine.
const pastSecond = 2 * time.Millisecond

// Run asks just after each second of the wall clock, and a last time when ctx ends, and
// writes what is answered. Until a member has answered once, as while it starts,
// questions without an answer are not written. Later ones are, with their error: they
// are gaps. An answer that comes late moves no other question; seconds that it takes
// are left out.
//
// The first error of a write ends Run, which returns it; errors of the member do not.
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
		// Not ctx: the last question is asked after its end, and has its own deadline.
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

// untilNext is the time until just after the wall clock's next second.
func untilNext(now time.Time) time.Duration {
	return time.Second - time.Duration(now.Nanosecond()) + pastSecond
}
