package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/config"
)

// Check finds what would stop a run before anything is started: agents that are
// not there or taken, options an agent refuses, ports in use, memory a machine
// does not have. It returns all of it, for all databases.
func Check(ctx context.Context, o Options) error {
	var errs []error
	for i := range o.Experiment.Databases {
		db := &o.Experiment.Databases[i]
		if err := check(ctx, o, db); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", db.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func check(ctx context.Context, o Options, db *config.Database) (err error) {
	entry, err := o.Registry.Get(db.Name)
	if err != nil {
		return err
	}
	if _, err := newDriver(entry, db); err != nil {
		return err
	}
	if len(db.Endpoints) > 0 {
		return nil
	}
	agents, err := connect(ctx, o, db)
	// The agents are given back even if ctx ends.
	defer func() { err = errors.Join(err, releaseAll(context.WithoutCancel(ctx), agents)) }()
	if err != nil {
		return err
	}
	// All agents that are not there are told at once; the order of Open is for one
	// refusal only.
	if err := each(agents, func(a *agentSession) error { return a.reach(ctx) }); err != nil || !db.Steps.Start {
		return err
	}
	for _, a := range agents {
		if _, err := a.open(ctx, o.Owner, ""); err != nil {
			return err
		}
	}
	return each(agents, func(a *agentSession) error {
		ctx, cancel := within(ctx, callTimeout)
		defer cancel()
		req := startRequest(entry, db, a, 0)
		req.DryRun = true
		if _, err := a.client.Start(ctx, req); err != nil {
			return a.failed(ctx, err)
		}
		return nil
	})
}
