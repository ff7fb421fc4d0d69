// Package guard declares bounds on a shared cluster. A load that passes one ends.
package guard

import (
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Event is recorded when a load has passed a bound.
const Event = "guard"

// Ability returns the declaration.
func Ability() ability.Ability { return ability.Ability{Name: "guard", Keys: Keys()} }

// Bounds protect the other users of a shared cluster.
type Bounds struct {
	// P99 bounds the p99 latency in any second; 0 means no bound.
	P99 time.Duration `json:"p99_ns,omitempty"`
	// Errors bounds the share of requests that failed in a second or whose outcome is unknown; nil
	// means no bound.
	Errors *workload.Percent `json:"errors_percent,omitempty"`
	// DBSize bounds the fullest member's store as a share of its quota; nil means no bound.
	DBSize *workload.Percent `json:"db_size_percent,omitempty"`
}

// Any reports whether there is a bound.
func (b Bounds) Any() bool { return b != Bounds{} }

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Bounds] {
	return ability.Section[Bounds]{
		Key: "guard", Meaning: "bounds past which the load ends within 2 s: the [`guard` keys](#keys-of-guard)", Replaces: true,
		Fields: section, Resolved: resolve,
		Shown: func(b Bounds, _ workload.Load) *yamlfile.Node {
			if !b.Any() {
				return nil
			}
			return section().Show(&b).Flow()
		},
	}
}

// section declares the bounds.
func section() yamlfile.Section[Bounds] {
	share := func(name, meaning string, at func(*Bounds) **workload.Percent) yamlfile.Field[Bounds] {
		percent := ability.PercentKind()
		return yamlfile.Key[Bounds, *workload.Percent]{
			Row: yamlfile.Row{Name: name, Unit: percent.Unit, Meaning: meaning}, At: at,
			Shown: func(b *Bounds) bool { return *at(b) != nil },
			Kind: yamlfile.Kind[*workload.Percent]{
				Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (*workload.Percent, bool) {
					p, ok := percent.Parse(r, key, node)
					return &p, ok
				},
				Node:   func(p *workload.Percent) *yamlfile.Node { return percent.Node(*p) },
				Schema: percent.Schema,
			},
		}.Field()
	}
	return yamlfile.Section[Bounds]{
		Fields: []yamlfile.Field[Bounds]{
			yamlfile.Key[Bounds, time.Duration]{
				Row:  yamlfile.Row{Name: "p99", Meaning: "largest 99th percentile latency in a second, or longest time without an answer"},
				Kind: yamlfile.DurationKind(), At: func(b *Bounds) *time.Duration { return &b.P99 },
				Shown: func(b *Bounds) bool { return b.P99 > 0 },
			}.Field(),
			share("errors", "largest share of requests in a second that fail or have an unknown outcome", func(b *Bounds) **workload.Percent { return &b.Errors }),
			share("db_size", "largest store size at any member, as a share of its quota; only for databases with a quota (etcd)", func(b *Bounds) **workload.Percent { return &b.DBSize }),
		},
		Check: func(r *yamlfile.Reader, w *yamlfile.Written[Bounds]) {
			if w.Has("p99") && w.Is.P99 == 0 {
				r.Errorf(w.NodeOf("p99"), "p99 must be positive, got 0s; leave it out for no bound")
			}
		},
	}
}

// resolve returns the bounds for a database: its own, or else those at the top of the file.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[Bounds], d *ability.Database) Bounds {
	w := all
	if own.Given() {
		w = own
	}
	if !w.Given() {
		return Bounds{}
	}
	if _, reports := d.Options.(database.FillReporter); w.Is.DBSize != nil && !reports {
		r.Errorf(w.NodeOf("db_size"), "db_size: members of %s report no quota", d.Name)
	}
	return w.Is
}
