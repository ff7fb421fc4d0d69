package control

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/shared"
	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/results/digest"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// run is one database in one trial, shared by its parts. The goroutine for the steps writes the
// fields that they fill in, before any reader is started.
type run struct {
	experiment *config.Experiment
	db         *config.Database
	entry      database.Database
	driver     database.Driver
	// record describes the run in the manifest.
	record *results.DatabaseRun
	// dir is the tag folder.
	dir string
	// target has the addresses and credentials for clients. It has no TLS and Auth before the step
	// "read credentials".
	target database.Target
	// mute reports whether the members report neither version nor leader. It is known after the
	// step "start members".
	mute    bool
	journal *journal
	losses  *fleet.Losses
	// claimant describes the run in the claim to its prefix. hold is the claim, nil before the step
	// "keep below a prefix".
	claimant shared.Claimant
	hold     *shared.Hold
	// halves are the parts of abilities in the run; nil before newParts.
	halves []abilities.Half
}

// newRun returns the run of db before anything started. j is its journal.
func newRun(e *config.Experiment, registry *database.Registry, db *config.Database, j *journal) (*run, error) {
	entry, err := registry.Get(db.Name)
	if err != nil {
		return nil, err
	}
	driver, err := newDriver(entry, db)
	if err != nil {
		return nil, err
	}
	r := &run{experiment: e, db: db, entry: entry, driver: driver, journal: j}
	if r.record, err = r.newRecord(); err != nil {
		return nil, err
	}
	r.target = database.Target{Prefer: -1, MaxBytes: maxBytes(db)}
	for _, m := range r.record.Members {
		r.target.Endpoints = append(r.target.Endpoints, m.Endpoint)
	}
	r.losses = fleet.NewLosses(len(r.record.Members), r.reportLoss)
	return r, nil
}

// asked returns the driver that asks the members for versions and the leader, and their addresses.
// They belong to the database called name, behind proxies that agents run, or else to the database
// of the run.
func (r *run) asked() (name string, driver database.Driver, t database.Target) {
	if f, ok := r.driver.(database.Fronted); ok && len(r.db.Endpoints) == 0 {
		return f.Behind(hosts(r.entry, r.db))
	}
	return "", r.driver, r.target
}

// maxBytes bounds the keys and values in one request, in bytes, including the protocol overhead for
// each key in a transaction.
func maxBytes(db *config.Database) int {
	const perKey = 128
	l := &db.Load
	one := db.PrefixSize() + l.KeySize + l.LargestValue()
	return one + max(l.TxnKeys-1, 0)*(one+perKey)
}

// newDriver returns a driver with the options in the experiment.
func newDriver(entry database.Database, db *config.Database) (database.Driver, error) {
	driver := entry.New()
	if err := yamlfile.DecodeOptions(db.OptionsYAML, driver); err != nil {
		return nil, fmt.Errorf("options of %s: %w", db.ID, err)
	}
	if err := database.CheckOptions(driver); err != nil {
		return nil, fmt.Errorf("options of %s: %w", db.ID, err)
	}
	return driver, nil
}

// newRecord returns the run record before anything started.
func (r *run) newRecord() (*results.DatabaseRun, error) {
	db := r.db
	options, err := json.Marshal(db.Options)
	if err != nil {
		return nil, fmt.Errorf("encode options: %w", err)
	}
	record := &results.DatabaseRun{
		ID: db.ID, Database: db.Name, Label: db.Label, Tag: db.Tag, Asked: db.Version, Description: db.Description,
		State: results.StateRunning, Swept: db.Swept, Load: results.Load{Load: r.db.Load.Recorded()}, Members: r.members(), Leader: -1,
		Setup:   results.Setup{Options: options, OptionTexts: db.OptionTexts(), Settings: r.settings(), Fsync: r.fsync(), Durability: r.durability()},
		Moments: results.Moments{Started: time.Now().UTC()}, Digests: &digest.Set{},
	}
	for _, a := range all.Abilities() {
		if a.Setup != nil {
			a.Setup(db.Abilities, &record.Setup)
		}
	}
	return record, nil
}

// settings returns the settings that differ from the release defaults, nil if they are not known.
func (r *run) settings() *results.Settings {
	d, ok := r.driver.(database.Upstream)
	if !ok || len(r.db.Endpoints) > 0 {
		return nil
	}
	version := database.PlainVersion(cmp.Or(release(r.experiment, r.entry, r.db), r.entry.Info.Embedded))
	return &results.Settings{Release: version, Changed: d.Changed(version)}
}

// members returns the members before they start: those run by agents, or the endpoints of a cluster
// without agents.
func (r *run) members() []results.Member {
	var members []results.Member
	for i, e := range r.db.Endpoints {
		host, _, err := net.SplitHostPort(e)
		if err != nil {
			host = e
		}
		members = append(members, results.Member{Index: i, Addr: host, Endpoint: e})
	}
	if members != nil {
		return members
	}
	for i, h := range hosts(r.entry, r.db) {
		members = append(members, results.Member{
			Index: i, Addr: h.Addr, Agent: r.db.Hosts[i].Agent(), Endpoint: endpoint(h), Ports: h.Ports,
		})
	}
	return members
}

// fsync describes when writes are on disk with these driver options. A cluster that was already
// running may have others.
func (r *run) fsync() string {
	if len(r.db.Endpoints) > 0 {
		return "not known: the cluster was already running"
	}
	if f, ok := r.driver.(database.Fsyncer); ok {
		return f.Fsync()
	}
	return r.entry.Info.Fsync
}

// durability returns the fsync class, "" for a cluster that was already running.
func (r *run) durability() declared.Durability {
	if len(r.db.Endpoints) > 0 {
		return ""
	}
	if f, ok := r.driver.(database.Fsyncer); ok {
		return f.Durability()
	}
	return r.entry.Info.Durability
}

// hosts returns the hosts of db with every port filled in.
func hosts(entry database.Database, db *config.Database) []database.Host {
	list := make([]database.Host, len(db.Hosts))
	for i, h := range db.Hosts {
		list[i] = database.Host{Addr: h.Addr, Ports: h.Ports}
	}
	return entry.Info.FillPorts(list)
}

// endpoint returns where clients reach a host.
func endpoint(h database.Host) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports["client"]))
}

// firstClients returns the client count in the first step.
func (r *run) firstClients() int { return r.db.Load.Stretches()[0].Clients }

func (r *run) openRecords(context.Context) error {
	if err := os.MkdirAll(filepath.Join(r.dir, results.DirLogs), 0o755); err != nil {
		return fmt.Errorf("make log directory: %w", err)
	}
	return r.journal.open(filepath.Join(r.dir, results.FileEvents))
}

func (r *run) closeRecords(context.Context) error { return r.journal.close() }

// readCredentials reads the files named in the experiment into the target. Only the target holds a
// password.
func (r *run) readCredentials(context.Context) (err error) {
	r.target.TLS, r.target.Auth, err = credentials(r.db)
	return err
}

// reportLoss records a lost member.
func (r *run) reportLoss(member int, why string) {
	r.journal.event("server lost", member, why)
	m := r.record.Members[member]
	r.journal.say("member %d on %s is lost: %s", member+1, cmp.Or(m.Agent, m.Endpoint), why)
}

// newRunID returns 128 random bits in hexadecimal.
func newRunID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails (crypto/rand)
	return hex.EncodeToString(id[:])
}
