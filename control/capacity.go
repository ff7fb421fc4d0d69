package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/search"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// searcher sends the windows of a search for a capacity.
type searcher struct {
	*loader
	engine *load.Engine
	rec    *load.Recorder
	beside during
	// conns are open connections to members; nil before the first window, and after one
	// was lost and not replaced.
	conns []database.Client
	// to opens more connections to the same members.
	to      *connect.Dialer
	windows int
}

// search finds the capacity. The records of the run are those of its last window.
func (l *loader) search(ctx context.Context, engine *load.Engine, rec *load.Recorder, sink *search.Sink) (err error) {
	s := &searcher{loader: l, engine: engine, rec: rec, beside: during{activities: l.duringLoad()}}
	if err := s.beside.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.beside.stop()) }()
	out, err := search.Run(ctx, search.Options{
		Capacity: *l.run.experiment.Capacity, Stretch: l.run.db.Load.Stretches()[0], Trial: l.run.journal.about.Trial, Dir: l.run.dir, Sink: sink,
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
	err = errors.Join(err, database.CloseAll(s.conns))
	if errors.Is(err, load.ErrMembersGone) && ctx.Err() == nil {
		return nil // the lost servers are marks, and the rest is recorded
	}
	return err
}

// noCapacity is why the search of a run found no capacity; "" if it found one, or if the run
// had none.
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

// step sends a window. Activities last until the load's context ends, not the window's.
func (s *searcher) step(ctx, window context.Context, step load.Step) (load.StepResult, error) {
	if slices.Contains(s.conns, nil) {
		lost := s.conns
		if s.conns = nil; database.CloseAll(lost) != nil {
			s.run.journal.say("a lost connection could not be closed")
		}
	}
	if s.conns == nil {
		conns, to, err := s.dialer.dial(ctx, step.Connections)
		if err != nil {
			return load.StepResult{}, err
		}
		s.conns, s.to = conns, to
		s.fleet.SetClients(step.Clients)
	}
	step.Dial, step.Reconnect = s.to.Single, s.dialer.reconnect(s.to)
	s.beside.start(ctx)
	s.windows++
	return s.engine.Step(window, step, s.conns)
}

// last prepares the record of the run for a window that it may be of: what the client did
// in those before is no part of it.
func (s *searcher) last(rate float64) {
	s.loader.before = s.rec.Totals()
	s.rec.Forget()
	s.run.record.Load.Rate = rate
	s.run.record.Load.Duration = s.run.experiment.Capacity.Settle + s.run.experiment.Capacity.LastWindow(rate)
	s.run.record.Steps = nil
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

// sizeTimeout bounds the question for the size of a store.
const sizeTimeout = 5 * time.Second
