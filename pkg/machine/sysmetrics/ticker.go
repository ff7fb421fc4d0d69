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
	// pastSecond is the time from a wall clock tick to the sample. Without it, a timer that fires
	// slightly early would sample the previous second.
	pastSecond = 2 * time.Millisecond
	// keptErrors is the number of errors that Run keeps.
	keptErrors = 10
)

// shortestPeriod limits what sampling costs.
const shortestPeriod = 100 * time.Millisecond

// Period converts nanoseconds to the interval between two samples: 0 means one second. It fails
// unless the interval is from 100 ms to a second and divides a second.
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

// Run writes a first sample at once, then one just after each wall clock second and each
// [Options.Period] in between, and a last one when ctx ends. It waits by the monotonic clock, so
// setting the wall clock shifts samples but never stops or repeats them. A missed tick remains a
// gap. The last sample reads everything, and may fall into the same second as the previous one. It
// is omitted if every process has ended: its counters would repeat those of the previous sample, as
// if the processes had been idle since.
//
// Failed samples or writes do not end Run. When ctx has ended, it returns the first ten errors,
// joined, and the number of further ones. It never returns ctx's error.
func (s *Sampler) Run(ctx context.Context, w writer) error {
	var errs memory
	s.record(w, &errs)
	return s.goOn(ctx, w, &errs)
}

// Start runs Run in a new goroutine after writing the first sample itself. Anything that begins
// after Start returns is thus sampled from before its beginning. The channel receives Run's result.
func (s *Sampler) Start(ctx context.Context, w writer) <-chan error {
	var errs memory
	s.record(w, &errs)
	done := make(chan error, 1)
	go func() { done <- s.goOn(ctx, w, &errs) }()
	return done
}

// writer stores samples.
type writer interface{ Write(results.Sample) error }

// goOn writes all samples except the first.
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

// record takes a sample and writes it, even if it is incomplete.
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

// untilNext returns the time until just after the next tick of the wall clock. Ticks are counted
// from each full second.
func (s *Sampler) untilNext(now time.Time) time.Duration {
	period := s.options.Period
	return period - time.Duration(now.Nanosecond())%period + pastSecond
}

// memory keeps the first errors and counts the others.
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
