// Package watchers declares clients that watch keys during a load: how soon they receive its
// writes, and whether they receive all.
package watchers

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{Name: "watchers", Keys: Keys(), Record: Record(), Observes: []observation.Group{Observed()}}
}

// Plan describes the watchers and their keys. Without watchers there is no plan.
type Plan struct {
	// Watchers has one number of watchers per stage. Stages are equal parts of the load's duration.
	Watchers []int `json:"watchers"`
	// Connections bounds the connections that watchers share, unless each has its own.
	Connections int                `json:"connections"`
	Of          Of                 `json:"of"`
	Kind        database.WatchKind `json:"kind"`
	// Values means that events carry values, so that a watcher with the event has the new value
	// too.
	Values bool `json:"values,omitempty"`
	Slow   Slow `json:"slow,omitzero"`
	// Reconnect is the period in which each connection is closed and opened again once, 0 for
	// never.
	Reconnect time.Duration `json:"reconnect_ns,omitempty"`
}

// Slow describes which watcher connections do not read for a time.
type Slow struct {
	Share workload.Percent `json:"share"`
	Pause time.Duration    `json:"pause_ns"`
}

// Wanted reports whether there are slow watchers.
func (s Slow) Wanted() bool { return s.Share > 0 }

// Wanted reports whether there are watchers.
func (p Plan) Wanted() bool { return p.Most() > 0 }

// Most returns the largest number of watchers.
func (p Plan) Most() int {
	if len(p.Watchers) == 0 {
		return 0
	}
	return p.Watchers[len(p.Watchers)-1]
}

// Of names the keys for each watcher: [All], [Key], or a share of the keys such as 10%.
type Of string

// Special values for [Of].
const (
	// All means all keys below the prefix.
	All Of = "all"
	// Key means one key each: watcher n has key n modulo the number of keys.
	Key Of = "key"
)

// Share returns the fraction of all keys that each watcher watches, 0 for [All] and [Key].
func (o Of) Share() float64 {
	percent, is := strings.CutSuffix(string(o), "%")
	if share, err := strconv.ParseFloat(percent, 64); is && err == nil {
		return share / 100
	}
	return 0
}

// Each returns the number of consecutive keys that each watcher watches. It is not used for [All].
func (o Of) Each(keys int64) int64 {
	if share := o.Share(); share > 0 {
		// A product that is whole except for rounding is not rounded up.
		return max(1, int64(math.Ceil(share*float64(keys)-1e-9*float64(keys))))
	}
	return 1
}

// Ranges returns the number of different ranges that are watched. The last may be shorter.
func (o Of) Ranges(keys int64) int64 {
	if o == All {
		return 1
	}
	keys = max(keys, 1)
	each := o.Each(keys)
	return (keys + each - 1) / each
}

// Text describes the keys for each watcher.
func (o Of) Text() string {
	switch o {
	case All:
		return "all keys"
	case Key:
		return "one key each"
	}
	return string(o) + " of the keys each"
}

// Bounds on a plan.
const (
	most      = 100_000
	mostConns = 10_000
	// leastValue is the number of bytes that a value needs to name the request that wrote it.
	leastValue = 16
	// mostPause is less than the 15 s after which a connection without an answer counts as lost.
	mostPause = 10 * time.Second
	mostSlow  = 50 // percent
	// leastReconnect is the shortest time from when a connection is closed until it is closed
	// again.
	leastReconnect = time.Second
	// MostShared is the most watchers that a shared cluster may have without --full-speed.
	MostShared = 1000
)

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "watch", Meaning: "[watchers](watches.md) that watch keys during the load, for databases with watches: the [`watch` keys](#keys-of-watch)",
		Fields: section, Resolved: resolve,
		Shown: func(p Plan, _ workload.Load) *yamlfile.Node {
			if !p.Wanted() {
				return nil
			}
			return section().Show(&p).Flow()
		},
	}
}

// numbers accepts rising numbers, or a single number.
func numbers() yamlfile.Kind[[]int] {
	list := yamlfile.ListKind(yamlfile.SmallKind(), true)
	return yamlfile.Kind[[]int]{
		Unit: "number or list",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]int, bool) {
			if yamlfile.IsScalar(node) {
				n, ok := yamlfile.Small(r, key, node)
				return []int{n}, ok
			}
			return list.Parse(r, key, node)
		},
		Node: func(all []int) *yamlfile.Node {
			if len(all) == 1 {
				return yamlfile.WholeNode(all[0])
			}
			return list.Node(all)
		},
		Nested: func() yamlfile.Schema {
			one := yamlfile.Schema{"type": "integer", "minimum": 0}
			return yamlfile.Schema{"anyOf": []yamlfile.Schema{one, {"type": "array", "items": one}}}
		},
	}
}

// ofKind accepts a word or a share.
func ofKind() yamlfile.Kind[Of] {
	words, share := yamlfile.WordKind(All, Key), ability.PercentKind()
	return yamlfile.Kind[Of]{
		Unit: "word or percent",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (Of, bool) {
			if yamlfile.IsScalar(node) && strings.ContainsAny(node.Value, "%0123456789") {
				p, ok := share.Parse(r, key, node)
				return Of(p.String()), ok
			}
			return words.Parse(r, key, node)
		},
		Node:   func(o Of) *yamlfile.Node { return yamlfile.TextNode(string(o)) },
		Schema: yamlfile.Schema{"anyOf": []yamlfile.Schema{words.Schema, share.Schema}},
	}
}

// slowKind accepts a mapping.
func slowKind() yamlfile.Kind[Slow] {
	return yamlfile.SectionKind("slow", yamlfile.Section[Slow]{Fields: []yamlfile.Field[Slow]{
		yamlfile.Key[Slow, workload.Percent]{
			Row:  yamlfile.Row{Name: "share", Usually: "required", Meaning: "share of the connections"},
			Kind: ability.PercentKind(), At: func(s *Slow) *workload.Percent { return &s.Share },
		}.Field(),
		yamlfile.Key[Slow, time.Duration]{
			Row:  yamlfile.Row{Name: "pause", Usually: "required", Meaning: "how long they read nothing"},
			Kind: yamlfile.DurationKind(), At: func(s *Slow) *time.Duration { return &s.Pause },
		}.Field(),
	}}, true)
}

func section() yamlfile.Section[Plan] {
	return yamlfile.Section[Plan]{Fields: []yamlfile.Field[Plan]{
		yamlfile.Key[Plan, []int]{
			Row:  yamlfile.Row{Name: "watchers", Usually: "required", Meaning: fmt.Sprintf("number of watchers, up to %d; a rising list such as `[0, 1, 100]` has a stage for each number, and stages share the load's `duration` equally; more than %d on a cluster that others use need --full-speed", most, MostShared)},
			Kind: numbers(), At: func(p *Plan) *[]int { return &p.Watchers },
		}.Field(),
		yamlfile.Key[Plan, int]{
			Row:  yamlfile.Row{Name: "connections", Preset: "50", Meaning: "maximum number of connections that watchers share; ZooKeeper and Consul watchers have one each"},
			Kind: yamlfile.SmallKind(), At: func(p *Plan) *int { return &p.Connections },
		}.Field(),
		yamlfile.Key[Plan, Of]{
			Row:  yamlfile.Row{Name: "of", Preset: string(All), Meaning: "what each watcher watches: `all` keys below the prefix, one `key` (watcher n has key n modulo the key count), or a share such as `10%` of the load's keys, which are consecutive (watcher n has range n modulo the range count); etcd can watch ranges"},
			Kind: ofKind(), At: func(p *Plan) *Of { return &p.Of },
		}.Field(),
		yamlfile.Key[Plan, database.WatchKind]{
			Row:  yamlfile.Row{Name: "kind", Usually: "the database's first", Meaning: "kind of watch: `stream` (etcd), `persistent` (ZooKeeper), `one-shot` (ZooKeeper, zetcd) or `blocking` (Consul, cetcd)"},
			Kind: yamlfile.WordKind(database.WatchStream, database.WatchPersistent, database.WatchOneShot, database.WatchBlocking), At: func(p *Plan) *database.WatchKind { return &p.Kind },
		}.Field(),
		yamlfile.Key[Plan, bool]{
			Row:  yamlfile.Row{Name: "values", Preset: "false", Meaning: "whether watchers need the values; without `kind`, they then use the database's first kind whose events have values"},
			Kind: yamlfile.TruthKind(), At: func(p *Plan) *bool { return &p.Values }, Shown: func(p *Plan) bool { return p.Values },
		}.Field(),
		yamlfile.Key[Plan, Slow]{
			Row:  yamlfile.Row{Name: "slow", Usually: "none", Meaning: fmt.Sprintf("`{share: 1%%, pause: 10s}`: this share of watcher connections, up to %d%% and at least one, reads nothing for the `pause`, which begins a quarter into each stage and lasts at most %v, and at most half a stage", mostSlow, mostPause)},
			Kind: slowKind(), At: func(p *Plan) *Slow { return &p.Slow }, Shown: func(p *Plan) bool { return p.Slow.Wanted() },
		}.Field(),
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "reconnect", Usually: "never", Meaning: fmt.Sprintf("each watcher connection, except slow ones, is closed and opened again once in this time, one after another, and its watchers continue where they were; from %v to half a stage; etcd and Consul can do it", leastReconnect)},
			Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.Reconnect }, Shown: func(p *Plan) bool { return p.Reconnect > 0 },
		}.Field(),
	}}
}

// resolve resolves the watchers for a database. Keys at the top of the file apply to databases with
// such watches.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[Plan], d *ability.Database) Plan {
	if !own.Given() && !all.Given() {
		return Plan{}
	}
	w := section().Over(own, all)
	at, report := all.Node, r.Warnf
	if own.Given() {
		at, report = own.Node, r.Errorf
	}
	if _, can := d.Options.(database.WatchDialer); !can {
		report(at, "watch: keys of %s cannot be watched: %s", d.Name, d.Info.NoWatches)
		return Plan{}
	}
	place := func(key string) *yamlfile.Node {
		if w.Has(key) {
			return w.NodeOf(key)
		}
		return at
	}
	if !w.Has("watchers") {
		// A value that cannot be read is already reported.
		if !gives(own) && !gives(all) {
			r.Errorf(cmp.Or(all.Node, own.Node), "watch needs watchers: how many there are, such as watchers: 100")
		}
		return Plan{}
	}
	p := section().Filled(w)
	facts := p.facts(d)
	if facts == nil {
		var kinds []string
		for _, f := range database.WatchesOf(d.Info, d.Options) {
			kinds = append(kinds, string(f.Kind))
		}
		report(place("kind"), "watch: %s has no watches of the kind %s; it has %s", d.Name, p.Kind, strings.Join(kinds, ", "))
		return Plan{}
	}
	if p.Values && !facts.Values {
		report(place("values"), "watch: events of %s watches of %s have no values", facts.Kind, d.Name)
		return Plan{}
	}
	p.Kind = facts.Kind
	checkPlan(r, p, place)
	checkLoad(r, p, place, d, facts)
	if w.Has("slow") {
		checkSlow(r, p, place, &d.Load)
	}
	if w.Has("reconnect") {
		checkReconnect(r, p, place, d, facts)
	}
	return p
}

// facts returns the facts about the kind of watch in a database, nil if the database lacks it.
func (p Plan) facts(d *ability.Database) *database.WatchFacts {
	if p.Values && p.Kind == "" {
		for _, f := range database.WatchesOf(d.Info, d.Options) {
			if f.Values {
				return &f
			}
		}
	}
	return database.WatchFactsOf(d.Info, d.Options, p.Kind)
}

// gives reports whether a mapping in the file has watchers, whatever their value.
func gives(w yamlfile.Written[Plan]) bool { return w.Given() && yamlfile.HasKey(w.Node, "watchers") }

// checkPlan reports impossible values.
func checkPlan(r *yamlfile.Reader, p Plan, place func(string) *yamlfile.Node) {
	if p.Most() < 1 || p.Most() > most {
		r.Errorf(place("watchers"), "watch: watchers must be from 1 to %d, got %v", most, p.Watchers)
	}
	for i := 1; i < len(p.Watchers); i++ {
		if p.Watchers[i] <= p.Watchers[i-1] {
			r.Errorf(place("watchers"), "watch: watchers must rise from stage to stage, got %d after %d", p.Watchers[i], p.Watchers[i-1])
		}
	}
	if p.Connections < 1 || p.Connections > mostConns {
		r.Errorf(place("connections"), "watch: connections must be from 1 to %d, got %d", mostConns, p.Connections)
	}
}

// lasts reports whether the load duration is known in advance, so that it has parts.
func lasts(l *workload.Load) bool { return len(l.Steps) == 0 && l.Duration > 0 && l.Requests <= 0 }

// stage returns the stage length. Without stages, which [checkPlan] reports, it is the whole load.
func (p Plan) stage(l *workload.Load) time.Duration {
	return l.Duration / time.Duration(max(len(p.Watchers), 1))
}

// checkSlow reports impossible slow watchers.
func checkSlow(r *yamlfile.Reader, p Plan, place func(string) *yamlfile.Node, l *workload.Load) {
	stage := p.stage(l)
	switch {
	case p.Slow.Share <= 0 || p.Slow.Share > mostSlow:
		r.Errorf(place("slow"), "watch: the share of slow watchers must be more than 0%% and at most %d%%, got %s", mostSlow, p.Slow.Share)
	case p.Slow.Pause <= 0 || p.Slow.Pause > mostPause:
		r.Errorf(place("slow"), "watch: the pause of slow watchers must be more than 0s and at most %v, got %v", mostPause, p.Slow.Pause)
	case !lasts(l):
		r.Errorf(place("slow"), "watch: slow watchers pause in a part of a load's duration: give the load a duration and neither requests nor steps")
	case p.Slow.Pause > stage/2:
		r.Errorf(place("slow"), "watch: the pause of slow watchers must be at most half of a stage of %v, so that they can catch up, got %v", stage, p.Slow.Pause)
	}
}

// checkReconnect reports watchers that cannot continue over new connections.
func checkReconnect(r *yamlfile.Reader, p Plan, place func(string) *yamlfile.Node, d *ability.Database, facts *database.WatchFacts) {
	l, at := &d.Load, place("reconnect")
	stage := p.stage(l)
	switch {
	case facts.NoResume != "":
		r.Errorf(at, "watch: %s watches of %s cannot continue over new connections: %s", facts.Kind, d.Name, facts.NoResume)
	case !lasts(l):
		r.Errorf(at, "watch: connections are opened again in parts of a load's duration: give the load a duration and neither requests nor steps")
	case p.Reconnect < leastReconnect || p.Reconnect > stage/2:
		r.Errorf(at, "watch: reconnect must be from %v to half of a stage of %v, got %v", leastReconnect, stage, p.Reconnect)
	}
}

// checkLoad reports loads whose writes cannot be recognized.
func checkLoad(r *yamlfile.Reader, p Plan, place func(string) *yamlfile.Node, d *ability.Database, facts *database.WatchFacts) {
	l := &d.Load
	switch {
	case d.Search != nil:
		r.Errorf(place("watchers"), "watch: %s has no watchers", d.Search.Words)
	case !l.Any(workload.Op.SendsValue):
		r.Errorf(place("watchers"), "watch: the load must write, got %s", l.Describe())
	case l.Any(workload.Op.Deletes) || l.Any(workload.Op.Guarded):
		r.Errorf(place("watchers"), "watch: writes must be write, update or swap, whose values name them, got %s", l.Describe())
	case l.ValueSize < leastValue:
		r.Errorf(place("watchers"), "watch: values must have at least %d bytes to name the requests that wrote them, got %d", leastValue, l.ValueSize)
	}
	if len(p.Watchers) > 1 && !lasts(l) {
		r.Errorf(place("watchers"), "watch: stages are equal parts of a load's duration: give the load a duration and neither requests nor steps, or one number of watchers")
	}
	switch {
	case p.Of == All && !facts.Ranges:
		r.Errorf(place("of"), "watch: %s watches of %s are of one key: give `of: key`", facts.Kind, d.Name)
	case p.Of != All && !l.Any(workload.Op.NeedsKey):
		r.Errorf(place("of"), "watch: `of: %s` needs keys that are there before the load, as those of update", p.Of)
	case p.Of == All || p.Of == Key:
	case p.Of.Share() <= 0 || p.Of.Share() >= 1:
		r.Errorf(place("of"), "watch: a share of the keys must be more than 0%% and less than 100%%, got %s; `of: all` is all of them", p.Of)
	case l.SameKey:
		r.Errorf(place("of"), "watch: all requests of the load take the same key, of which nobody can watch %s", p.Of)
	case facts.NoParts != "":
		r.Errorf(place("of"), "watch: %s watches of %s are not of a part of the keys: %s; give `of: key` or `of: all`", facts.Kind, d.Name, facts.NoParts)
	}
}
