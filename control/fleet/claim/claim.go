// Package claim reserves many agents for one run, almost all of them at once. If several runs claim
// some of the same agents, one gets all its agents.
//
// All runs order agents the same way. A run claims the lowest agent alone, which decides between
// runs that want the same agents, and then the others at once. If another run holds one of these,
// the run backs off: it releases its agents above that one, waits for that agent alone, and
// continues from there. A run therefore waits only while all its agents are below the agent that
// it waits for, and no two runs wait for each other.
package claim

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
)

// HeldError reports an agent held by another run.
type HeldError struct{ Err error }

func (e *HeldError) Error() string { return e.Err.Error() }
func (e *HeldError) Unwrap() error { return e.Err }

// The time that a run that backed off waits for an agent. Another run that backs off releases it
// within a few calls. A run that keeps the agent is not waited for.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 800 * time.Millisecond
)

// All claims every agent in list, in the order that all runs use. take claims one agent and returns
// a [HeldError] if another run holds it. giveBack undoes a claim. Several goroutines call both.
// Every error except a HeldError ends the claim at once. All returns the first such error in list
// order, or else the HeldError for an agent that another run keeps. After an error the caller gives
// back the claimed agents.
func All[T any](ctx context.Context, list []T, take, giveBack func(T) error) error {
	for backedOff := false; len(list) > 0; backedOff = true {
		if err := takeOne(ctx, list[0], take, backedOff); err != nil {
			return err
		}
		list = list[1:]
		errs := Each(list, take)
		lowest := slices.IndexFunc(errs, func(err error) bool { return err != nil })
		if lowest < 0 {
			return nil
		}
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !held(err) }); i >= 0 {
			return errs[i]
		}
		var got []T
		for i := lowest; i < len(list); i++ {
			if errs[i] == nil {
				got = append(got, list[i])
			}
		}
		if err := errors.Join(Each(got, giveBack)...); err != nil {
			return errors.Join(errs[lowest], err)
		}
		list = list[lowest:]
	}
	return nil
}

// takeOne claims one agent. If patient, it tries again while another run holds the agent.
func takeOne[T any](ctx context.Context, one T, take func(T) error, patient bool) error {
	for pause := firstPause; ; pause *= 2 {
		err := take(one)
		if !patient || !held(err) || pause > lastPause {
			return err
		}
		if !sleep.For(ctx, pause) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

func held(err error) bool {
	var other *HeldError
	return errors.As(err, &other)
}

// Back calls giveBack for a list in the order of [All], for the lowest agent last: a run that gets
// the lowest agent finds the others free. It returns every error in list order.
func Back[T any](list []T, giveBack func(T) error) error {
	if len(list) == 0 {
		return nil
	}
	errs := Each(list[1:], giveBack)
	return errors.Join(slices.Insert(errs, 0, giveBack(list[0]))...)
}

// Each calls do for all elements in a list at once and returns the errors in its order.
func Each[T any](list []T, do func(T) error) []error {
	errs := make([]error, len(list))
	var group sync.WaitGroup
	for i, one := range list {
		group.Go(func() { errs[i] = do(one) })
	}
	group.Wait()
	return errs
}
