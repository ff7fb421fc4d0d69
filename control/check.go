package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// Check finds what would stop a run before anything is started: agents that are
// not there or taken, options an agent refuses, releases that are not there or
// that nothing installs, ports in use, memory a machine does not have. It returns
// all of it, for all databases.
func Check(ctx context.Context, o Options) error {
	var errs []error
	for i := range o.Experiment.Databases {
		db := &o.Experiment.Databases[i]
		if err := check(ctx, o, db); err != nil {
			errs = append(errs, named(db.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// named puts the name before each of the errors that err joins: they are told a
// line each, beside those of other databases.
func named(name string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, named(name, e))
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
	if installs(db) && db.Version == "" {
		return errNoVersion
	}
	if _, _, err := credentials(db); err != nil || len(db.Endpoints) > 0 {
		return err
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
		req := startRequest(o.Experiment, entry, db, a, 0)
		req.DryRun = true
		reply, err := a.client.Start(ctx, req)
		if err != nil {
			return a.failed(ctx, err)
		}
		var plan database.Plan
		if err := json.Unmarshal(reply.Plan, &plan); err != nil {
			return fmt.Errorf("agent %s: decode plan: %w", a.addr, err)
		}
		if err := checkTarget(db, plan); err != nil {
			return fmt.Errorf("agent %s: %w", a.addr, err)
		}
		return nil
	})
}

// checkTarget refuses a load that goes to the leader, or past it, where members
// planned so do not tell who that is.
func checkTarget(db *config.Database, plan database.Plan) error {
	target := db.Load.Target
	if plan.Mute && db.Steps.Load && (target == "leader" || target == "follower") {
		return fmt.Errorf("target: %s: members with this executable do not tell which of them leads; give all or a host", target)
	}
	return nil
}
