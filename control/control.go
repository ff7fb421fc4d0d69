// Package control conducts experiments: it makes the agents start a cluster, applies the load,
// stops the cluster, collects everything into a result folder, and marks every fact that qualifies
// its numbers.
//
// A run takes each database through a list of named steps, each with its undo (conduct.go). An
// activity runs while steps do (during.go). Every step that was begun gets its undo, so an
// interrupted or failed run ends with its cluster stopped and its records complete up to then.
package control

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/coreos/dbtester/control/before/lookup"
	"github.com/coreos/dbtester/control/shared"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/process/garbage"
	"github.com/coreos/dbtester/pkg/sleep"
)

// Run conducts all trials for all databases in an experiment, one after the other. After a failed
// database the next one runs; after ctx ends no other does. The outcome is complete up to the
// error, which joins the errors from all databases.
//
// Unless GOGC is set, it has this process collect garbage sooner while it runs, but not during
// loads.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	const percent = 30 // control makes little garbage, so this costs little and bounds its memory
	defer garbage.CollectAt(percent)()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Report = oneByOne(o.Report)
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = DefaultReadyTimeout
	}
	named, err := lookup.Hosts(ctx, o.Experiment, lookup.Options{Resolver: o.Resolver, Wait: o.Wait, Report: func(text string) { o.Report(Update{Text: text, Step: true}) }})
	if err != nil {
		return &Outcome{}, err
	}
	o.Experiment = named
	client, err := sysmetrics.HostFacts()
	if err != nil {
		o.Log.Warn("some facts about this machine cannot be read", "error", err)
	}
	out := &Outcome{}
	if err := withCause(ctx, errors.Join(CheckUpload(o), shared.CheckSpeed(o.Experiment, o.FullSpeed), Check(ctx, o))); err != nil {
		return out, err
	}
	if text := leftOut(o); text != "" {
		o.Report(Update{Text: text})
	}
	var errs []error
	for i, n := range o.trials() {
		if out.Guarded {
			break
		}
		if i > 0 && !sleep.For(ctx, o.Experiment.Settle) {
			errs = append(errs, context.Cause(ctx))
			break
		}
		t := &trial{opts: o, number: n, out: out, client: client}
		errs = append(errs, t.run(ctx))
	}
	return out, errors.Join(errs...)
}

// trials returns which trials to run.
func (o Options) trials() (numbers []int) {
	for n := 1; n <= max(o.Experiment.Trials, 1); n++ {
		if o.Trials == nil || slices.Contains(o.Trials, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// Named returns an experiment with addresses in place of host names, as [Run] looks them up: a
// copy, or e itself without names.
func Named(ctx context.Context, e *config.Experiment) (*config.Experiment, error) {
	return lookup.Hosts(ctx, e, lookup.Options{})
}

// oneByOne returns a function for several goroutines. It calls report once at a time.
func oneByOne(report func(Update)) func(Update) {
	if report == nil {
		return func(Update) {}
	}
	var mu sync.Mutex
	return func(u Update) {
		mu.Lock()
		defer mu.Unlock()
		report(u)
	}
}
