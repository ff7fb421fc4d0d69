package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// activity runs while steps do, or while the load does: heartbeats, samples, the
// watch for changes of leader, profiles.
//
// One that also has something to do before it runs is a [preparer], and one that
// leaves something in the run's record is a [recorder].
type activity interface {
	// Name is that of the step that starts it, and the prefix of its errors.
	Name() string
	// Run returns when the activity is complete, and soon after ctx ends. The cause of
	// ctx is errOver if the run reached the end of the activity, else the cause of the
	// interrupt. Run must not write to the run's record.
	Run(ctx context.Context) error
}

// preparer is an activity that can fail before it runs. prepare is called once, by
// the goroutine of the steps.
type preparer interface {
	prepare(ctx context.Context) error
}

// recorder is an activity that leaves something in the run's record. record is
// called once, by the goroutine of the steps, after Run returned.
type recorder interface{ record() }

// errOver is the cause of the end of an activity that is not interrupted.
var errOver = errors.New("the activity is over")

// during starts, ends and awaits some activities together. Its methods are called by one
// goroutine.
type during struct {
	activities []activity
	cancel     context.CancelCauseFunc // nil before start
	wg         sync.WaitGroup
	errs       []error // by activity
}

// beside returns the step that runs an activity from here to the end of the run,
// also after an interrupt.
func beside(a activity, skip bool, needs ...fact) step {
	d := &during{activities: []activity{a}}
	start := func(ctx context.Context) error {
		if err := d.prepare(ctx); err != nil {
			return err
		}
		d.start(context.WithoutCancel(ctx))
		return nil
	}
	return step{name: a.Name(), needs: needs, do: start, undo: func(context.Context) error { return d.stop() }, skip: skip}
}

// prepare prepares the activities and returns the first error.
func (d *during) prepare(ctx context.Context) error {
	for _, a := range d.activities {
		if p, ok := a.(preparer); ok {
			if err := p.prepare(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts the activities. Calling it again does nothing.
func (d *during) start(ctx context.Context) {
	if d.cancel != nil {
		return
	}
	ctx, d.cancel = context.WithCancelCause(ctx)
	d.errs = make([]error, len(d.activities))
	for i, a := range d.activities {
		d.wg.Go(func() { d.errs[i] = a.Run(ctx) })
	}
}

// stop ends the activities, if they were started, waits for them, has them record
// their results, and returns all their errors.
func (d *during) stop() error {
	if d.cancel == nil {
		return nil
	}
	d.cancel(errOver)
	d.wg.Wait()
	var errs []error
	for i, a := range d.activities {
		if r, ok := a.(recorder); ok {
			r.record()
		}
		if d.errs[i] != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.Name(), d.errs[i]))
		}
	}
	return errors.Join(errs...)
}
