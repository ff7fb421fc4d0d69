// Package upkeep declares upkeep by control during a load: it compacts, defragments and copies a
// cluster.
package upkeep

import (
	"cmp"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results/effect"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// The kinds of event for upkeep that control did during a load. The event time is when the upkeep
// began.
const (
	EventCompact  = "compact"
	EventDefrag   = "defragment"
	EventSnapshot = "take snapshot"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{Name: "upkeep", Words: []string{"maintain"}, Keys: Keys(), Record: Record(), Observes: []observation.Group{Observed()}}
}

// SnapshotBytes names the observed snapshot size.
const SnapshotBytes = "snapshot_bytes"

// Observed declares the time that upkeep took, by its keys in a file, and the snapshot size.
func Observed() observation.Group {
	g := observation.Group{Name: "upkeep"}
	for _, k := range Kinds() {
		g.Values = append(g.Values, observation.Value{
			Name: k.Key, Unit: "ns", Merging: observation.Times,
			Definition: "times that successful upkeep of the kind `" + k.Event + "` took, in the second in which it began",
		})
	}
	g.Values = append(g.Values, observation.Value{
		Name: SnapshotBytes, Unit: "bytes", Merging: observation.Sum, Definition: "bytes of the snapshots that were read during the load, where the database reports them",
		Row: "UPKEEP-SNAPSHOT-BYTES", After: "UPKEEP",
	})
	return g
}

// Record declares the entry for the effect on latency, by kind of event.
func Record() ability.Record[[]effect.Effect] { return ability.Record[[]effect.Effect]{Key: "upkeep"} }

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "maintain", Meaning: "cluster upkeep during the load, for databases that support it: the [`maintain` keys](#keys-of-maintain)",
		Fields: section, Resolved: resolve, Shown: show,
	}
}

// Plan has, for each kind of upkeep, the time from one to the next during a load; 0 means never.
type Plan struct {
	// Compact drops the history of keys, Defrag releases unused space in each member's store, and
	// Snapshot copies one member's data, each member in turn.
	Compact  time.Duration `json:"compact_ns,omitempty"`
	Defrag   time.Duration `json:"defrag_ns,omitempty"`
	Snapshot time.Duration `json:"snapshot_ns,omitempty"`
}

// shortest bounds what upkeep costs.
const shortest = time.Second

// Kind describes compaction, defragmentation or a copy.
type Kind struct {
	// Key is its key in a file, and Event its event kind.
	Key, Event string
	// At is its place in a plan.
	At      func(*Plan) *time.Duration
	meaning string
	can     func(driver any) bool
}

// Kinds returns the kinds in the order in which they are documented.
func Kinds() []Kind {
	return []Kind{
		{"compact", EventCompact, func(p *Plan) *time.Duration { return &p.Compact },
			"time between two compactions, which discard key history (etcd). On etcd clusters that agents start, loads that overwrite or delete keys compact every minute unless this key says otherwise; `0s` means never",
			is[database.Compacter]},
		{"defrag", EventDefrag, func(p *Plan) *time.Duration { return &p.Defrag },
			"time between two defragmentations, which cover the members one after another (etcd); a member answers nothing meanwhile",
			is[database.Defragmenter]},
		{"snapshot", EventSnapshot, func(p *Plan) *time.Duration { return &p.Snapshot },
			"time between two snapshots, taken from each member in turn (etcd, Consul, ZooKeeper from 3.9); etcd and Consul snapshots are read and not kept",
			is[database.Snapshotter]},
	}
}

// Events returns the event kinds that upkeep records.
func Events() (kinds []string) {
	for _, k := range Kinds() {
		kinds = append(kinds, k.Event)
	}
	return kinds
}

// is reports whether a driver has a facet.
func is[T any](driver any) bool {
	_, ok := driver.(T)
	return ok
}

// section declares a key for each kind.
func section() yamlfile.Section[Plan] {
	s := yamlfile.Section[Plan]{Check: func(r *yamlfile.Reader, w *yamlfile.Written[Plan]) {
		for _, k := range Kinds() {
			if d := *k.At(&w.Is); d > 0 && d < shortest {
				r.Errorf(w.NodeOf(k.Key), "%s must be at least %v, or 0s for never, got %v", k.Key, shortest, d)
			}
		}
	}}
	for _, k := range Kinds() {
		s.Fields = append(s.Fields, yamlfile.Key[Plan, time.Duration]{
			Row: yamlfile.Row{Name: k.Key, Meaning: k.meaning}, Kind: yamlfile.DurationKind(), At: k.At,
			Shown: func(p *Plan) bool { return k.Key == "compact" || *k.At(p) > 0 },
		}.Field())
	}
	return s
}

// resolve resolves the upkeep for a database under its load. Keys at the top of the file apply to
// the kinds of database that support them.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[Plan], d *ability.Database) Plan {
	w := section().Over(own, all)
	plan := w.Is
	for _, k := range Kinds() {
		every := k.At(&plan)
		if *every == 0 || k.can(d.Options) {
			continue
		}
		if *every = 0; own.Given() && own.Has(k.Key) {
			r.Errorf(own.NodeOf(k.Key), "%s: control cannot do this for %s", k.Key, d.Name)
		}
	}
	if !w.Has("compact") {
		plan.Compact = 0
		// A search compacts between its windows.
		if c, ok := d.Options.(database.Compacter); ok && !d.Running && !d.Classic && d.Search == nil && overwrites(d.Load) {
			plan.Compact = c.CompactEvery()
		}
	}
	planSnapshots(r, plan, w, own.Given() && own.Has("snapshot"), d)
	if at := cmp.Or(own.Node, all.Node); d.Running && plan != (Plan{}) && at != nil {
		r.Warnf(at, "maintain: others use the cluster of endpoints: a compaction forgets the history of their keys too, and a member that is defragmented does not answer them")
	}
	return plan
}

// planSnapshots has members started so that they serve the snapshots in w. It refuses a release or
// a cluster that cannot serve them, even if the key is at the top of the file: other releases can,
// so the report would compare members with and without snapshots.
func planSnapshots(r *yamlfile.Reader, plan Plan, w yamlfile.Written[Plan], own bool, d *ability.Database) {
	undo := ""
	if !own {
		undo = " (maintain: {snapshot: 0s} under " + d.ID + " leaves them out there)"
	}
	if err := CheckSnapshots(plan, d); err != nil {
		r.Errorf(w.NodeOf("snapshot"), "snapshot: %v%s", err, undo)
	}
}

// CheckSnapshots changes database options so that members serve the planned snapshots. The error
// says why that is impossible.
func CheckSnapshots(plan Plan, d *ability.Database) error {
	planner, must := d.Options.(database.SnapshotPlanner)
	if plan.Snapshot == 0 || !must {
		return nil
	}
	return planner.PlanSnapshots(database.SnapshotTarget{Version: database.PlainVersion(d.Version), Running: d.Running, Secret: d.Secret})
}

// show shows the upkeep. Where a default is possible, it shows also that there is no upkeep.
func show(plan Plan, l workload.Load) *yamlfile.Node {
	if plan == (Plan{}) && !overwrites(l) {
		return nil
	}
	return section().Show(&plan).Flow()
}

// overwrites reports whether a load leaves old versions of keys behind.
func overwrites(l workload.Load) bool {
	return l.Any(workload.Op.Deletes) || l.Any(func(op workload.Op) bool { return op.SendsValue() && (l.SameKey || !op.Creates()) })
}
