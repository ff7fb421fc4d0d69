package sysmetrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	// pastSecond is how long after a tick of the wall clock a sample is due, so that a
	// timer that fires early by a hair doesn't sample the second before.
	pastSecond = 2 * time.Millisecond
	// keptErrors is the number of errors that Run keeps.
	keptErrors = 10
)

// shortestPeriod bounds the cost of sampling.
const shortestPeriod = 100 * time.Millisecond

// Period returns the time between two samples that a number of nanoseconds stands for:
// 0 is a second. One that is not from 100 ms to a second, or no whole part of a
// second, is an error.
func Period(ns int64) (time.Duration, error) {
	period := time.Duration(ns)
	if period == 0 {
		return time.Second, nil
	}
	if period < shortestPeriod || period > time.Second || time.Second%period != 0 {
		return 0, fmt.Errorf("the time between samples must be from %v to 1s and a whole part of a second, got %v", shortestPeriod, period)
	}
	return period, nil
}

// Run writes a sample at once, one just after each second of the wall clock and each
// [Options.Period] between, and a last one when ctx ends. It waits by the monotonic clock,
// so setting the wall clock shifts samples but never stops or repeats them. A tick that was
// missed stays a gap. The last sample reads everything, and may fall into the same second
// as the one before. It is not written if every process has ended: its counters would
// repeat those of the sample before, as if nothing had been done since.
//
// An error of one sample or one write does not end it: the first ten are
// returned, joined, when ctx has ended, with the number of the others. Run never
// returns an error of ctx.
func (s *Sampler) Run(ctx context.Context, w writer) error {
	var errs memory
	s.record(w, &errs)
	return s.goOn(ctx, w, &errs)
}

// Start is Run on a goroutine of its own, but for the first sample, which was written when it
// returns: what begins then is sampled from before its beginning. The channel gets Run's result.
func (s *Sampler) Start(ctx context.Context, w writer) <-chan error {
	var errs memory
	s.record(w, &errs)
	done := make(chan error, 1)
	go func() { done <- s.goOn(ctx, w, &errs) }()
	return done
}

// writer keeps samples.
type writer interface{ Write(results.Sample) error }

// goOn writes the samples after the first.
func (s *Sampler) goOn(ctx context.Context, w writer, errs *memory) error {
	timer := time.NewTimer(s.untilNext(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			s.recordLast(w, errs)
			return errs.join()
		case <-timer.C:
			s.record(w, errs)
			timer.Reset(s.untilNext(time.Now()))
		}
	}
}

// record takes one sample and writes it; one that lacks something is written too.
func (s *Sampler) record(w writer, errs *memory) {
	sample, err := s.Sample()
	write(w, sample, err, errs)
}

// recordLast takes the last sample and writes it, unless the processes have ended.
func (s *Sampler) recordLast(w writer, errs *memory) {
	sample, err := s.read(true)
	if ended := sample.PID > 0 && sample.Get(metric.Processes) == 0; !ended {
		write(w, sample, err, errs)
	}
}

func write(w writer, sample results.Sample, err error, errs *memory) {
	errs.add(err)
	if err := w.Write(sample); err != nil {
		errs.add(fmt.Errorf("write a sample: %w", err))
	}
}

// untilNext is the time until just after the wall clock's next tick. Ticks are counted
// from each full second.
func (s *Sampler) untilNext(now time.Time) time.Duration {
	period := s.options.Period
	return period - time.Duration(now.Nanosecond())%period + pastSecond
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
