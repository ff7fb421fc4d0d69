package config

import (
	"cmp"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Maintain is how often control keeps up a cluster during a load; 0 is never.
type Maintain struct {
	// Compact forgets the history of keys, Defrag gives unused space of each member's store
	// back, and Snapshot copies the data of one member, each in turn.
	Compact  time.Duration `json:"compact_ns,omitempty"`
	Defrag   time.Duration `json:"defrag_ns,omitempty"`
	Snapshot time.Duration `json:"snapshot_ns,omitempty"`
}

// shortestUpkeep bounds the cost of upkeep.
const shortestUpkeep = time.Second

// upkeep is one kind of upkeep.
type upkeep struct {
	name, meaning string
	at            func(*Maintain) *time.Duration
	can           func(Entry) bool
}

func upkeeps() []upkeep {
	return []upkeep{
		{"compact", "time between two compactions, which forget the history of keys (etcd). Loads on etcd that agents start compact every minute if they overwrite or delete keys, unless this says otherwise; `0s` is never",
			func(m *Maintain) *time.Duration { return &m.Compact }, func(e Entry) bool { return e.Compacts }},
		{"defrag", "time between two defragmentations of each member, one after the other (etcd); a member answers nothing meanwhile",
			func(m *Maintain) *time.Duration { return &m.Defrag }, func(e Entry) bool { return e.Defrags }},
		{"snapshot", "time between two snapshots, of each member in turn (etcd, Consul, ZooKeeper from 3.9); those of etcd and Consul are read and not kept",
			func(m *Maintain) *time.Duration { return &m.Snapshot }, func(e Entry) bool { return e.Snapshots }},
	}
}

// maintainSection declares the kinds of upkeep.
func maintainSection() section[Maintain] {
	s := section[Maintain]{Check: func(r *yamlfile.Reader, w *written[Maintain]) {
		for _, u := range upkeeps() {
			if d := *u.at(&w.Is); d > 0 && d < shortestUpkeep {
				r.Errorf(w.NodeOf(u.name), "%s must be at least %v, or 0s for never, got %v", u.name, shortestUpkeep, d)
			}
		}
	}}
	for _, u := range upkeeps() {
		s.Fields = append(s.Fields, key[Maintain, time.Duration]{
			Row: row{Name: u.name, Meaning: u.meaning}, Kind: yamlfile.DurationKind(), At: u.at,
			Shown: func(m *Maintain) bool { return u.name == "compact" || *u.at(m) > 0 },
		}.Field())
	}
	return s
}

// maintain resolves the upkeep of a database under its load. What the whole file asks for
// holds for the kinds of databases that can do it.
func (r *databaseResolver) maintain(d *Database) {
	own, w := r.spec.maintain, maintainSection().Over(r.spec.maintain, r.file.maintain)
	d.Maintain = w.Is
	for _, u := range upkeeps() {
		every := u.at(&d.Maintain)
		if *every == 0 || u.can(r.spec.entry) {
			continue
		}
		if *every = 0; own.Given() && own.Has(u.name) {
			r.Errorf(own.NodeOf(u.name), "%s: control cannot do this for %s", u.name, r.spec.entry.Name)
		}
	}
	runs := len(d.Endpoints) > 0
	if !w.Has("compact") {
		d.Maintain.Compact = 0
		// A search for a capacity compacts between its windows.
		if !runs && !r.file.Classic && r.file.Capacity == nil && overwrites(d.Load) {
			d.Maintain.Compact = r.spec.entry.CompactEvery
		}
	}
	r.snapshots(d, w, own.Given() && own.Has("snapshot"))
	if at := cmp.Or(own.Node, r.file.maintain.Node); runs && d.Maintain != (Maintain{}) && at != nil {
		r.Warnf(at, "maintain: others use the cluster of endpoints: a compaction forgets the history of their keys too, and a member that is defragmented does not answer them")
	}
}

// snapshots has members started so that they can be asked for snapshots, which is given in
// w. A release or a cluster that can't be asked is refused, also where the whole file asks:
// others of its kind can, so that the report would compare members with and without.
func (r *databaseResolver) snapshots(d *Database, w written[Maintain], own bool) {
	plan := r.spec.entry.PlanSnapshots
	if d.Maintain.Snapshot == 0 || plan == nil || d.Options == nil {
		return
	}
	undo := ""
	if !own {
		undo = " (maintain: {snapshot: 0s} under " + r.spec.ID + " leaves them out there)"
	}
	if err := plan(d.Options, d.Version, len(d.Endpoints) > 0, d.TLS != nil && d.Auth != nil); err != nil {
		r.Errorf(w.NodeOf("snapshot"), "snapshot: %v%s", err, undo)
	}
}

// showMaintain shows the upkeep, also that there is none where a default is possible.
func showMaintain(d *databaseSpec) *yamlfile.Node {
	if d.Maintain == (Maintain{}) && !overwrites(d.Load) {
		return nil
	}
	return maintainSection().Show(&d.Maintain).Flow()
}

// overwrites reports whether a load leaves history of keys behind.
func overwrites(l workload.Load) bool {
	return l.Any(workload.Op.Deletes) || l.Any(func(op workload.Op) bool { return op.SendsValue() && (l.SameKey || !op.Creates()) })
}
