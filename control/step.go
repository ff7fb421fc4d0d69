package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// step names a procedure of the run and the facts that it needs. Steps pass facts to later ones in
// the fields of the run.
type step struct {
	name string
	// needs and gives are the facts that the step reads and leaves. They document why steps have
	// their order. A test compares them with it.
	needs, gives []fact
	do           func(context.Context) error
	// undo, if not nil, runs when the run ends, however it ends, if do was begun. Its context
	// outlives an interrupt, so undo itself bounds calls that may hang.
	undo func(context.Context) error
	// ending describes undo in a plan; "" leaves undo out.
	ending string
	skip   bool
}

// fact is left by a step for later ones.
type fact string

// conduct carries out steps until one fails or ctx ends, then undoes the begun steps in reverse. It
// returns every error. After ctx ends, the errors hold its cause.
func conduct(ctx context.Context, steps []step, say func(string)) error {
	var errs []error
	var begun []step
	for _, s := range steps {
		if s.skip {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		say(s.name)
		begun = append(begun, s)
		if err := s.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, withCause(ctx, err)))
			break
		}
	}
	for _, s := range slices.Backward(begun) {
		if s.undo == nil {
			continue
		}
		if err := s.undo(context.WithoutCancel(ctx)); err != nil {
			errs = append(errs, err)
		}
	}
	return withCause(ctx, errors.Join(errs...))
}

// withCause adds the cause of ctx to err, if ctx has ended.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil || errors.Is(err, cause):
		return err
	case errors.Is(err, context.Canceled): // has no reason itself
		return cause
	default:
		return errors.Join(cause, err)
	}
}
