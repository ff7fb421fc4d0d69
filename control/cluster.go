package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize/english"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/lognotes"
	"github.com/coreos/dbtester/control/fleet/salvage"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process/environment"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
)

// fleetOf returns the agents for db, not yet connected.
func fleetOf(o Options, db *config.Database) fleet.Options {
	f := fleet.Options{Connect: o.Connect, RunID: newRunID(), Owner: o.Owner, Version: o.Tool.Version}
	for _, h := range db.Hosts {
		f.Agents = append(f.Agents, h.Agent())
	}
	return f
}

// cluster holds the members that agents start.
type cluster struct {
	run   *run
	fleet *fleet.Fleet   // empty for a cluster without agents
	disks []results.Disk // with member data, by index; zero if unknown
	// reserved reports whether this run reserved all agents.
	reserved bool
	// mark names the sessions so that control can fetch their records after this process was lost;
	// nil before.
	mark *salvage.Mark
}

// open connects to the agents and reserves them.
func (c *cluster) open(ctx context.Context) error {
	if err := c.fleet.Connect(ctx); err != nil {
		return err
	}
	var err error
	if c.mark, err = salvage.Write(c.run.dir, c.fleet.RunID(), c.fleet.Agents()); err != nil {
		return err
	}
	var takeOver func(member int) *dbtesterpb.StartRequest
	if !c.run.db.Steps.Start {
		if takeOver, err = startRequests(c.run.experiment, c.run.entry, c.run.db, c.run.firstClients()); err != nil {
			return err
		}
	}
	err = c.fleet.Open(ctx, takeOver, func(member int, host *results.Host) { c.run.record.Members[member].Host = host })
	c.reserved = err == nil
	return err
}

// close releases the agents. Members that are left running on purpose stay.
func (c *cluster) close(ctx context.Context) error {
	err := c.release(ctx)
	if c.mark != nil {
		err = errors.Join(err, c.mark.Close(err == nil))
	}
	return err
}

func (c *cluster) release(ctx context.Context) error {
	if c.leavesRunning() || !c.reserved && !c.run.db.Steps.Start {
		return c.fleet.Leave(ctx) // all members, or those taken over before another refused
	}
	err := c.fleet.Close(ctx)
	if kept := (*fleet.KeptError)(nil); errors.As(err, &kept) {
		return fmt.Errorf("%w\nwhen they can be, fetch them with dbtester control --collect %s", err, filepath.Dir(c.run.dir))
	}
	if err != nil {
		return fmt.Errorf("close agents: %w", err)
	}
	return nil
}

// leavesRunning reports whether the cluster is left running: the experiment asks for it, and the
// cluster became ready or an earlier run started it. An earlier run's cluster stays even if it
// did not become ready for this run, for example after an interrupt.
func (c *cluster) leavesRunning() bool {
	steps := &c.run.db.Steps
	return !steps.Stop && (!steps.Start || !c.run.record.Ready.IsZero())
}

// install has all agents install the release, and the releases that members are upgraded to.
func (c *cluster) install(ctx context.Context) error {
	db := c.run.db
	for _, version := range append([]string{release(c.run.experiment, c.run.entry, db)}, upgradesOf(db)...) {
		if err := c.fleet.Install(ctx, db.Name, version); err != nil {
			return err
		}
	}
	return nil
}

// start has every agent start its member.
func (c *cluster) start(ctx context.Context) error {
	if !c.run.db.Steps.Start { // an earlier run did
		return nil
	}
	c.run.journal.event("start", -1, "")
	requests, err := startRequests(c.run.experiment, c.run.entry, c.run.db, c.run.firstClients())
	if err != nil {
		return err
	}
	replies, err := c.fleet.Start(ctx, requests)
	for i, reply := range replies {
		if reply != nil {
			err = errors.Join(err, c.recordStart(i, reply))
		}
	}
	return err
}

// recordStart records in the manifest which commands and releases an agent started.
func (c *cluster) recordStart(member int, reply *dbtesterpb.StartResponse) error {
	m := &c.run.record.Members[member]
	if err := checkAbilities(c.run.db, m.Agent, reply); err != nil {
		return err
	}
	var plan database.Plan
	if err := json.Unmarshal(reply.Plan, &plan); err != nil {
		return fmt.Errorf("agent %s: decode plan: %w", m.Agent, err)
	}
	records, err := recordsOf(reply)
	if err != nil {
		return fmt.Errorf("agent %s: %w", m.Agent, err)
	}
	m.Listen = plan.Listen
	m.Release, m.Environment, c.disks[member] = records.release, records.environment, records.disk
	c.run.record.Built = originOf(records.release, plan)
	c.run.mute = c.run.mute || plan.Mute
	for _, child := range reply.Children {
		m.Argv = append(m.Argv, child.Argv)
	}
	c.run.record.LogRules, c.run.record.LogTimes = plan.LogRules, plan.LogTimes
	return nil
}

// startRecords are the records in the reply to a start.
type startRecords struct {
	release     *results.Release // nil for tools that belong to no release
	environment []environment.Facts
	disk        results.Disk
}

// recordsOf decodes the records in the reply to a start.
func recordsOf(reply *dbtesterpb.StartResponse) (r startRecords, err error) {
	if r.release, err = dbtesterpb.ReadRecord[results.Release]("the release", reply.Release); err != nil {
		return r, err
	}
	commands, err := dbtesterpb.ReadRecord[[]environment.Facts]("the environment", reply.Environment)
	if err != nil {
		return r, err
	}
	if commands != nil {
		r.environment = *commands
	}
	disk, err := dbtesterpb.ReadRecord[results.Disk]("the disk", reply.Disk)
	if disk != nil {
		r.disk = *disk
	}
	return r, err
}

// stop has the agents stop their members, unless they are left running, and fetches the last
// samples.
func (c *cluster) stop(ctx context.Context) error {
	var errs []error
	if c.leavesRunning() {
		c.fleet.Unwatch()
		c.run.journal.say("the cluster is left running")
	} else {
		c.run.journal.step("stop members")
		errs = append(errs, c.fleet.Stop(ctx, func(member int, how fleet.Stopped) {
			c.recordStop(member, how)
			for _, problem := range how.Problems {
				errs = append(errs, fmt.Errorf("member %d: %s", member+1, problem))
			}
		}))
	}
	c.run.journal.step("collect measurements")
	names, err := c.fleet.Collect(ctx, c.run.dir)
	for i, list := range names {
		c.run.record.Members[i].Files = append(c.run.record.Members[i].Files, list...)
	}
	members := make([]int, len(names))
	for i := range members {
		members[i] = i
	}
	errs = append(errs, lognotes.Write(c.run.dir, c.run.record, members, c.run.journal.events))
	return errors.Join(append(errs, err)...)
}

// recordStop records in the manifest how a member ended.
func (c *cluster) recordStop(member int, how fleet.Stopped) {
	m := &c.run.record.Members[member]
	m.Exit, m.Error = append(m.Exit, how.Exit...), how.Error
	if how.ApparentBytes >= 0 {
		disk := c.disks[member]
		disk.ApparentBytes, disk.AllocatedBytes = how.ApparentBytes, how.AllocatedBytes
		m.Disk = &disk
	}
	if m.Use = how.Use; m.Use != nil && m.Use.OOMKills > 0 {
		c.run.journal.event(results.EventMemoryLimit, member, limitText(c.run.record, m.Use))
	}
	c.run.journal.event("stop", member, "")
}

// limitText describes the number of processes that the kernel killed because of the memory limit.
func limitText(record *results.DatabaseRun, u *resources.Use) string {
	return fmt.Sprintf("the kernel killed %s because of the memory limit of %s", english.Plural(int(u.OOMKills), "process", ""), record.Resources.MemoryText())
}

// startRequests returns a function for requests to start a member. clients is the client count in
// the first step.
func startRequests(e *config.Experiment, entry database.Database, db *config.Database, clients int) (func(member int) *dbtesterpb.StartRequest, error) {
	base := &dbtesterpb.StartRequest{
		Database: db.Name, Tag: db.Tag, Version: release(e, entry, db), Install: db.Install, Options: db.OptionsYAML,
		Clients: int32(clients), Detached: !db.Steps.Stop, Binary: db.Binary,
		SamplePeriodNs: e.Sample.Nanoseconds(), SkipDatabaseMetrics: !e.Metrics,
	}
	if t := db.TLS; t != nil {
		base.TlsCa, base.TlsCert, base.TlsKey = t.CA, t.Cert, t.Key
	}
	for _, h := range hosts(entry, db) {
		ports := make(map[string]int32, len(h.Ports))
		for role, port := range h.Ports {
			ports[role] = int32(port)
		}
		base.Hosts = append(base.Hosts, &dbtesterpb.MemberHost{Addr: h.Addr, Ports: ports})
	}
	requests := make([]*dbtesterpb.StartRequest, len(base.Hosts))
	for i := range requests {
		requests[i] = proto.CloneOf(base)
		requests[i].Index = int32(i)
		for _, a := range all.Abilities() {
			if a.Start == nil {
				continue
			}
			if err := a.Start(db.Abilities, requests[i]); err != nil {
				return nil, err
			}
		}
	}
	return func(member int) *dbtesterpb.StartRequest { return proto.CloneOf(requests[member]) }, nil
}

// StartRequest returns the request by which control makes an agent start a member of db, without a
// run id. Members count from 0.
func StartRequest(e *config.Experiment, registry *database.Registry, db *config.Database, member int) (*dbtesterpb.StartRequest, error) {
	entry, err := registry.Get(db.Name)
	if err != nil {
		return nil, err
	}
	if member < 0 || member >= len(db.Hosts) {
		return nil, fmt.Errorf("the member of %s must be from 0 to %d, got %d", db.ID, len(db.Hosts)-1, member)
	}
	requests, err := startRequests(e, entry, db, db.Load.Stretches()[0].Clients)
	if err != nil {
		return nil, err
	}
	return requests(member), nil
}
