package sysmetrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

const (
	// pastSecond is how long after a boundary of the wall clock a sample is due, so
	// that a timer that fires early by a hair doesn't sample the second before.
	pastSecond = 2 * time.Millisecond
	// keptErrors is the number of errors that Run keeps.
	keptErrors = 10
)

// Run writes a sample at once, one just after each second of the wall clock, and
// a last one when ctx ends. It waits by the monotonic clock, so setting the wall
// clock shifts samples but never stops or repeats them. A second that was missed
// stays a gap. The last sample may fall into the same second as the one before.
//
// An error of one sample or one write does not end it: the first ten are
// returned, joined, when ctx has ended, with the number of the others. Run never
// returns an error of ctx.
func (s *Sampler) Run(ctx context.Context, w interface{ Write(results.Sample) error }) error {
	var errs memory
	s.record(w, &errs)
	timer := time.NewTimer(untilNext(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			s.record(w, &errs)
			return errs.join()
		case <-timer.C:
			s.record(w, &errs)
			timer.Reset(untilNext(time.Now()))
		}
	}
}

// record takes one sample and writes it; one that lacks something is written too.
func (s *Sampler) record(w interface{ Write(results.Sample) error }, errs *memory) {
	sample, err := s.Sample()
	errs.add(err)
	if err := w.Write(sample); err != nil {
		errs.add(fmt.Errorf("write a sample: %w", err))
	}
}

// untilNext is the time until just after the wall clock's next second.
func untilNext(now time.Time) time.Duration {
	return time.Second - time.Duration(now.Nanosecond()) + pastSecond
}

// memory keeps the first errors and counts the rest.
type memory struct {
	first  []error
	others int
}

func (m *memory) add(err error) {
	switch {
	case err == nil:
	case len(m.first) < keptErrors:
		m.first = append(m.first, err)
	default:
		m.others++
	}
}

func (m *memory) join() error {
	errs := m.first
	if m.others > 0 {
		errs = append(errs, fmt.Errorf("and %d more errors", m.others))
	}
	return errors.Join(errs...)
}
