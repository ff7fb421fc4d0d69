package control

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/control/search"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// searcher sends the windows of a search for a capacity.
type searcher struct {
	*loader
	beside  during
	windows int
}

// search finds the capacity. The records of the run are those of its last window.
func (l *loader) search(ctx context.Context, sink *search.Sink) (err error) {
	s := &searcher{loader: l, beside: during{activities: l.duringLoad()}}
	if err := s.beside.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.beside.stop()) }()
	out, err := search.Run(ctx, search.Options{
		Capacity: capacity.Keys().Of(l.run.experiment.Abilities), Stretch: l.run.db.Load.Stretches()[0], Trial: l.run.journal.about.Trial, Dir: l.run.dir, Sink: sink,
		Step: func(window context.Context, step load.Step) (load.StepResult, error) {
			return s.step(ctx, window, step)
		},
		Before: s.before, Last: s.last, Say: l.run.journal.step,
	})
	l.run.record.Capacity = &out.Capacity
	if out.Step != nil {
		l.recordStep(*out.Step, *out.Result)
	}
	l.run.journal.say("capacity (%s): %s", out.SLO(), search.Describe(&out.Capacity))
	if errors.Is(err, load.ErrMembersGone) && ctx.Err() == nil {
		return nil // lost servers are marks, and the rest is recorded
	}
	return err
}

// noCapacity returns why the search of a run found no capacity: "" if it found one, or if the run
// had no search.
func noCapacity(d *results.DatabaseRun) string {
	if d.Capacity == nil || d.Capacity.Found() {
		return ""
	}
	for _, m := range d.Validity {
		if m.Code != mark.Capacity {
			continue
		}
		if why := mark.NoCapacity(m.Values, m.Words); why != "" {
			return why
		}
	}
	return search.Describe(d.Capacity)
}

// step sends a window on the connections of the window before. Activities last until the load's
// context ends, not the window's.
func (s *searcher) step(ctx, window context.Context, step load.Step) (load.StepResult, error) {
	s.windows++
	return s.issue.Step(ctx, issue.Step{Step: step, Until: window, Keep: true, Members: s.dialer.targets, Begin: func() {
		s.fleet.SetClients(step.Clients)
		s.beside.start(ctx)
	}})
}

// last prepares the run's record for a window that may be the last. It drops what the clients did
// in earlier windows.
func (s *searcher) last(rate float64) error {
	s.run.record.Load.Rate = rate
	c := capacity.Keys().Of(s.run.experiment.Abilities)
	s.run.record.Load.Duration = c.Settle + c.LastWindow(rate)
	s.run.record.Steps = nil
	return s.issue.Restart()
}

// before has abilities act after each window, and returns the size of the store.
func (s *searcher) before(ctx context.Context) (size int64, err error) {
	for _, half := range s.run.halves {
		if b, ok := half.(abilities.Betweener); ok && s.windows > 0 {
			b.Between(ctx)
		}
	}
	sizer, ok := s.run.driver.(database.FillReporter)
	if !ok {
		return -1, nil
	}
	within, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	if size, _, err = sizer.Fill(within, s.run.target); err != nil {
		return -1, nil // the samples of the members may have it
	}
	return size, nil
}

// sizeTimeout bounds the request for the size of a store.
const sizeTimeout = 5 * time.Second
