package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// conductor runs one database of one trial.
type conductor struct {
	*trialRun
	db     *config.Database
	entry  database.Database
	driver database.Driver
	run    *results.DatabaseRun
	dir    string // the tag's folder
	agents []*agentSession
	disks  []results.Disk // what the members' data lies on, by index; zero if unknown
	events *results.EventWriter
	target database.Target
	beats  *heartbeats
	leader *leaderWatch // nil while nobody watches
	dialed atomic.Int64 // connections of read-oneshot
	mute   bool         // the members tell neither their version nor who leads
	// endSampling ends the samples of this process and waits for the last one.
	endSampling func() error
}

// step is one step of a run. Undo, if any, runs when the run ends, however it
// ends, if do was begun; its context outlives an interrupt, so it bounds by itself
// what may hang.
type step struct {
	name string
	do   func(context.Context) error
	undo func(context.Context) error
	skip bool
}

// steps are a run, from top to bottom; then the undos from bottom to top.
func (c *conductor) steps() []step {
	s := c.db.Steps
	agents := len(c.db.Endpoints) == 0
	_, leads := c.driver.(database.Leader)
	return []step{
		{name: "open records", do: c.openRecords, undo: c.closeRecords},
		{name: "read credentials", do: c.readCredentials, skip: c.db.TLS == nil && c.db.Auth == nil},
		{name: "open agents", do: c.openAgents, undo: c.closeAgents, skip: !agents},
		{name: "send heartbeats", do: c.startHeartbeats, undo: c.stopHeartbeats, skip: !agents},
		{name: "install", do: c.install, skip: !installs(c.db)},
		{name: "start members", do: c.startMembers, undo: c.stopMembers, skip: !agents},
		{name: "wait for a quorum", do: c.waitReady},
		{name: "ask versions", do: c.askMembers},
		{name: "watch the leader", do: c.watchLeader, undo: c.unwatchLeader, skip: !s.Load || !leads},
		{name: "sample the client", do: c.startSampling, undo: c.stopSampling, skip: !s.Load},
		{name: "load", do: c.load, skip: !s.Load},
	}
}

// database runs one database and records how it ended.
func (t *trialRun) database(ctx context.Context, db *config.Database) error {
	c, err := t.newConductor(db)
	if err != nil {
		return err
	}
	if c.dir, err = t.folder.MakeTag(db.Tag); err != nil {
		return err
	}
	t.manifest.Databases = append(t.manifest.Databases, c.run)
	if err := t.folder.WriteManifest(t.manifest); err != nil {
		return err
	}
	err = conduct(ctx, c.steps(), func(text string) { c.say("%s", text) })
	err = withCause(ctx, errors.Join(err, c.derive()))
	c.judge()
	c.run.Ended = time.Now().UTC()
	c.run.State = stateOf(ctx, err)
	if err != nil {
		c.run.Error = err.Error()
	}
	return errors.Join(err, t.folder.WriteManifest(t.manifest), c.exportRun())
}

// newConductor returns the conductor of a database before anything started.
func (t *trialRun) newConductor(db *config.Database) (*conductor, error) {
	entry, err := t.Registry.Get(db.Name)
	if err != nil {
		return nil, err
	}
	driver, err := newDriver(entry, db)
	if err != nil {
		return nil, err
	}
	c := &conductor{trialRun: t, db: db, entry: entry, driver: driver}
	if c.run, err = c.newRun(); err != nil {
		return nil, err
	}
	c.target = database.Target{Prefer: -1, MaxBytes: db.Load.KeySize + max(db.Load.ValueSize, db.Load.ValueSizeMax)}
	for _, m := range c.run.Members {
		c.target.Endpoints = append(c.target.Endpoints, m.Endpoint)
	}
	c.disks = make([]results.Disk, len(c.run.Members))
	c.beats = newHeartbeats(len(c.run.Members), c.firstClients())
	return c, nil
}

// conduct carries out steps until one fails or ctx ends, then undoes in reverse
// what was begun. It returns every error; after the end of ctx they hold its
// cause.
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

// withCause is the error of what ran while ctx ended, if it did: the cause, with
// what else went wrong.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil || errors.Is(err, cause):
		return err
	case errors.Is(err, context.Canceled): // only tells that there is a cause
		return cause
	default:
		return errors.Join(cause, err)
	}
}

// newDriver returns a driver with the options of the experiment.
func newDriver(entry database.Database, db *config.Database) (database.Driver, error) {
	driver := entry.New()
	if err := database.DecodeOptions(db.OptionsYAML, driver); err != nil {
		return nil, fmt.Errorf("options of %s: %w", db.ID, err)
	}
	return driver, nil
}

// newRun describes the run before anything started.
func (c *conductor) newRun() (*results.DatabaseRun, error) {
	db := c.db
	options, err := json.Marshal(db.Options)
	if err != nil {
		return nil, fmt.Errorf("encode options: %w", err)
	}
	return &results.DatabaseRun{
		ID: db.ID, Database: db.Name, Label: db.Label, Tag: db.Tag, Asked: db.Version, Description: db.Description,
		State: results.StateRunning, Options: options, Fsync: c.fsync(),
		Load: c.loadRecord(), Members: c.members(), Leader: -1, Started: time.Now().UTC(),
	}, nil
}

// members are the members as they are asked for: those that agents run, or the
// endpoints of a cluster that nobody here knows more of.
func (c *conductor) members() []results.Member {
	var members []results.Member
	for i, e := range c.db.Endpoints {
		host, _, err := net.SplitHostPort(e)
		if err != nil {
			host = e
		}
		members = append(members, results.Member{Index: i, Addr: host, Endpoint: e})
	}
	if members != nil {
		return members
	}
	for i, h := range hosts(c.entry, c.db) {
		members = append(members, results.Member{
			Index: i, Addr: h.Addr, Agent: c.db.Hosts[i].Agent(), Endpoint: endpoint(h), Ports: h.Ports,
		})
	}
	return members
}

// fsync states when a write is on disk with this driver's options, which nobody
// gave to a cluster that ran already.
func (c *conductor) fsync() string {
	if len(c.db.Endpoints) > 0 {
		return "not known: the cluster ran already"
	}
	if f, ok := c.driver.(database.Fsyncer); ok {
		return f.Fsync()
	}
	return c.entry.Info.Fsync
}

// hosts are the hosts of a database with every port filled in.
func hosts(entry database.Database, db *config.Database) []database.Host {
	list := make([]database.Host, len(db.Hosts))
	for i, h := range db.Hosts {
		list[i] = database.Host{Addr: h.Addr, Ports: h.Ports}
	}
	return entry.Info.FillPorts(list)
}

func (c *conductor) openRecords(context.Context) (err error) {
	if err := os.MkdirAll(filepath.Join(c.dir, results.DirLogs), 0o755); err != nil {
		return fmt.Errorf("make log directory: %w", err)
	}
	c.events, err = results.NewEventWriter(filepath.Join(c.dir, results.FileEvents))
	return err
}

func (c *conductor) closeRecords(context.Context) error {
	if c.events == nil {
		return nil
	}
	return c.events.Close()
}

// event records that something happened; member -1 is the whole cluster. The
// record of an event is not worth failing a run for.
func (c *conductor) event(kind string, member int, text string) {
	if c.events == nil {
		return
	}
	if err := c.events.Write(results.Event{Time: time.Now().UTC(), Kind: kind, Member: member, Text: text}); err != nil {
		c.Log.Warn("an event was not recorded", "kind", kind, "error", err)
	}
}

// say tells whoever listens what happens now.
func (c *conductor) say(format string, args ...any) {
	c.Report(Update{Trial: c.number, Trials: c.manifest.Trials, Tag: c.db.Tag, Text: fmt.Sprintf(format, args...)})
}
