package control

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/coreos/dbtester/control/abilities"
)

// during starts, ends and awaits activities together. One goroutine calls its methods.
type during struct {
	activities []abilities.Activity
	cancel     context.CancelCauseFunc // nil before start
	wg         sync.WaitGroup
	errs       []error // by activity
}

// beside returns a step that runs a from here until the run ends, even after an interrupt.
func beside(a abilities.Activity, skip bool, needs ...fact) step {
	d := &during{activities: []abilities.Activity{a}}
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
		if p, ok := a.(abilities.Preparer); ok {
			if err := p.Prepare(ctx); err != nil {
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

// stop ends the activities if they were started, waits for them, has them record their results,
// and returns all their errors.
func (d *during) stop() error {
	if d.cancel == nil {
		return nil
	}
	d.cancel(abilities.ErrOver)
	d.wg.Wait()
	var errs []error
	for i, a := range d.activities {
		if r, ok := a.(abilities.Recorder); ok {
			r.Record()
		}
		if d.errs[i] != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.Name(), d.errs[i]))
		}
	}
	return errors.Join(errs...)
}
