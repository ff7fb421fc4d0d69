package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// Check returns every reason why a run would fail before its load, for all databases: agents that
// do not answer or are reserved, options an agent refuses, releases that are missing and will not
// be installed, ports in use, too little memory on a machine. It starts nothing.
func Check(ctx context.Context, o Options) error {
	var errs []error
	for i := range o.Experiment.Databases {
		db := &o.Experiment.Databases[i]
		if err := errors.Join(check(ctx, o, db), checkGenerators(ctx, o, db)); err != nil {
			errs = append(errs, advised(o, db, named(db.ID, err)))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// installKey is advice from agents that classic files cannot follow: they have no such key.
const installKey = ", or install: true in the experiment file"

// advised returns err with advice that fits the file schema.
func advised(o Options, db *config.Database, err error) error {
	entry, unknown := o.Registry.Get(db.Name)
	if unknown != nil || !o.Experiment.Classic || !slices.ContainsFunc(
		[]string{installKey, " is too old: ", " cannot be installed by dbtester"}, func(part string) bool { return strings.Contains(err.Error(), part) }) {
		return err
	}
	advice := "run another release with --use-version " + db.Name + "=VERSION"
	if tools := entry.Info.Tools; len(tools) > 0 {
		advice += ", or start the agents with --" + tools[0] + "-exec"
	}
	return errors.Join(errors.New(strings.ReplaceAll(err.Error(), installKey, "")), errors.New(advice))
}

func check(ctx context.Context, o Options, db *config.Database) (err error) {
	entry, err := o.Registry.Get(db.Name)
	if err != nil {
		return err
	}
	if _, err := newDriver(entry, db); err != nil {
		return err
	}
	if err := checkCommands(o, db); err != nil {
		return err
	}
	if err := checkUpgrades(o.Experiment, entry, db); err != nil {
		return err
	}
	if installs(db) && stated(db) == "" {
		return errNoVersion
	}
	if _, _, err := credentials(db); err != nil || len(db.Endpoints) > 0 {
		return err
	}
	agents := fleet.New(fleetOf(o, db))
	// The agents are given back even if ctx ends.
	defer func() { err = errors.Join(err, agents.Close(context.WithoutCancel(ctx))) }()
	if err := agents.Connect(ctx); err != nil {
		return err
	}
	// All agents that do not answer are reported at once. Open ends at the first
	// refusal.
	if err := agents.Reach(ctx); err != nil || !db.Steps.Start {
		return err
	}
	machines := make([]forecast.AgentMachine, len(db.Hosts))
	if err := agents.Open(ctx, nil, func(member int, host *results.Host) {
		machines[member] = forecast.AgentMachine{Agent: db.Hosts[member].Agent()}
		if host != nil {
			machines[member].Machine, machines[member].MemoryBytes = host.BootID, host.MemoryBytes
		}
	}); err != nil {
		return err
	}
	requests, err := startRequests(o.Experiment, entry, db, 0)
	if err != nil {
		return err
	}
	plans, err := agents.Check(ctx, requests)
	errs := []error{err}
	for i, reply := range plans {
		if reply != nil {
			errs = append(errs, checkReply(o.Experiment, db, db.Hosts[i].Agent(), reply.Plan), checkAbilities(db, db.Hosts[i].Agent(), reply))
			records, err := recordsOf(reply)
			if err != nil {
				errs = append(errs, fmt.Errorf("agent %s: %w", db.Hosts[i].Agent(), err))
			}
			machines[i].Disk, machines[i].FreeBytes = records.disk.Device, reply.FreeBytes
		}
	}
	return errors.Join(append(errs, forecast.CheckAgents(o.Experiment, db, machines))...)
}

// checkReply refuses loads that do not fit the plan, in JSON, for one member.
func checkReply(e *config.Experiment, db *config.Database, agent string, data []byte) error {
	var plan database.Plan
	if err := json.Unmarshal(data, &plan); err != nil {
		return fmt.Errorf("agent %s: decode plan: %w", agent, err)
	}
	if err := checkPlan(e, db, plan); err != nil {
		return fmt.Errorf("agent %s: %w", agent, err)
	}
	return nil
}

// checkAbilities refuses agents that cannot meet the needs of an ability for their member.
func checkAbilities(db *config.Database, agent string, reply *dbtesterpb.StartResponse) error {
	for _, a := range all.Abilities() {
		if a.Refuses == nil {
			continue
		}
		if err := a.Refuses(db.Abilities, reply); err != nil {
			return fmt.Errorf("agent %s: %w", agent, err)
		}
	}
	return nil
}

// checkPlan refuses loads that members with this plan can't serve: requests to the leader or to
// followers if members do not report their leader, or operations that they do not have.
func checkPlan(e *config.Experiment, db *config.Database, plan database.Plan) error {
	if !db.Steps.Load {
		return nil
	}
	if target := db.Load.Target; plan.Mute && (target == "leader" || target == "follower") {
		return fmt.Errorf("target: %s: members with this executable do not report their leader; give all or a host", target)
	}
	if plan.Operations == nil {
		return nil
	}
	var can []string
	for _, op := range plan.Operations {
		can = append(can, string(op))
	}
	for _, op := range db.Load.Operations() {
		if !slices.Contains(plan.Operations, op) {
			text := fmt.Sprintf("members with this executable do not support %q (they support %s)", op, strings.Join(can, ", "))
			return errors.New(placed(e, db, text, "operation", "mix", "workload"))
		}
	}
	return nil
}

// placed returns text after the place and name of the first key that the file gives for the load.
func placed(e *config.Experiment, db *config.Database, text string, keys ...string) string {
	for _, path := range []string{"databases." + db.ID + ".load.", "load."} {
		for _, key := range keys {
			if place := e.Place(path + key); place != "" {
				return place + ": " + key + ": " + text
			}
		}
	}
	return keys[0] + ": " + text
}

// CheckBinaries returns why loads do not fit members that run an executable from the experiment
// file. It calls no agent.
func CheckBinaries(e *config.Experiment, registry *database.Registry) error {
	var errs []error
	for i := range e.Databases {
		db := &e.Databases[i]
		entry, err := registry.Get(db.Name)
		if err != nil || db.Binary == "" || len(entry.Info.Tools) == 0 || len(db.Endpoints) > 0 {
			continue
		}
		driver, err := newDriver(entry, db)
		if err != nil {
			continue // reported where the options are checked
		}
		plan, err := driver.Plan(database.Member{Hosts: hosts(entry, db), Dir: dryRunDir, Tools: map[string]string{entry.Info.Tools[0]: db.Binary}})
		if err == nil {
			errs = append(errs, checkPlan(e, db, plan))
		}
	}
	return errors.Join(errs...)
}
