// Package deaths declares sessions that are held during a load and then abandoned: how late a
// database notices a dead client.
package deaths

import (
	"cmp"
	"fmt"
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
	return ability.Ability{Name: "deaths", Keys: Keys(), Record: Record(), Observes: []observation.Group{Observed()}}
}

// Plan describes the sessions to hold and how they end. With 0 held there is no plan.
type Plan struct {
	Held int `json:"held"`
	// TTL is the requested TTL, and Keep the time between two renewals of a session.
	TTL  time.Duration `json:"ttl_ns"`
	Keep time.Duration `json:"keep_ns"`
	// Release is how the holders die, After when they begin to, counted from when the load starts.
	Release Release       `json:"release"`
	After   time.Duration `json:"after_ns"`
	// Keys is the number of keys per session.
	Keys int `json:"keys"`
}

// Release is how holders die: [AllAtOnce], [Never], or a number per second, such as "500/s".
type Release string

// The releases that are not rates.
const (
	AllAtOnce Release = "all at once"
	Never     Release = "never"
)

// PerSecond returns the rate, 0 for releases that are not rates.
func (r Release) PerSecond() float64 {
	text, ok := strings.CutSuffix(string(r), "/s")
	rate, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		return 0
	}
	return rate
}

// releaseKind accepts a [Release].
func releaseKind() yamlfile.Kind[Release] {
	return yamlfile.Kind[Release]{
		Unit: "word",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (Release, bool) {
			text, ok := yamlfile.Text(r, key, node)
			is := Release(text)
			if rate := is.PerSecond(); ok && is != AllAtOnce && is != Never && !(rate > 0 && rate <= 1e6) {
				r.Errorf(node, "%s must be %q, %q or a number of sessions a second such as 500/s, got %q", key, AllAtOnce, Never, text)
				return "", false
			}
			return is, ok
		},
		Node:   func(is Release) *yamlfile.Node { return yamlfile.TextNode(string(is)) },
		Schema: yamlfile.Schema{"type": "string", "pattern": `^(all at once|never|[0-9.]+/s)$`},
	}
}

// Bounds on a plan. MostShared is the most sessions that a shared cluster may have without
// --full-speed.
const (
	most       = 200_000
	mostKeys   = 100
	MostShared = 1000
)

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "sessions", Meaning: "[sessions](sessions.md) that are held during the load and then abandoned, for databases with sessions: the [`sessions` keys](#keys-of-sessions)",
		Fields: section, Resolved: resolve,
		Shown: func(p Plan, _ workload.Load) *yamlfile.Node {
			if p.Held == 0 {
				return nil
			}
			return section().Show(&p).Flow()
		},
	}
}

func section() yamlfile.Section[Plan] {
	return yamlfile.Section[Plan]{Fields: []yamlfile.Field[Plan]{
		yamlfile.Key[Plan, int]{
			Row:  yamlfile.Row{Name: "held", Usually: "required", Meaning: fmt.Sprintf("number of sessions, from 1 to %d; more than %d on a cluster that others use need --full-speed", most, MostShared)},
			Kind: yamlfile.SmallKind(), At: func(p *Plan) *int { return &p.Held },
		}.Field(),
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "ttl", Usually: "required", Meaning: "time without a renewal after which a session should end; the report shows the TTL that members granted"},
			Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.TTL },
		}.Field(),
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "keep", Usually: "a third of `ttl`", Meaning: "time between two renewals of a session, less than `ttl`"},
			Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.Keep },
		}.Field(),
		yamlfile.Key[Plan, Release]{
			Row:  yamlfile.Row{Name: "release", Preset: string(AllAtOnce), Meaning: "how holders die without closing their sessions: `all at once`, at a rate such as `500/s`, or `never`"},
			Kind: releaseKind(), At: func(p *Plan) *Release { return &p.Release },
		}.Field(),
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "after", Usually: "a third of the load's `duration`, or 10s", Meaning: "time from the start of the load to the first death"},
			Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.After },
		}.Field(),
		yamlfile.Key[Plan, int]{
			Row:  yamlfile.Row{Name: "keys", Preset: "1", Meaning: fmt.Sprintf("number of keys per session, from 1 to %d, with values as large as the load's", mostKeys)},
			Kind: yamlfile.SmallKind(), At: func(p *Plan) *int { return &p.Keys },
		}.Field(),
	}}
}

// resolve resolves the sessions for a database. Keys at the top of the file apply to databases with
// sessions.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[Plan], d *ability.Database) Plan {
	if !own.Given() && !all.Given() {
		return Plan{}
	}
	w := section().Over(own, all)
	at := all.Node
	if own.Given() {
		at = own.Node
	}
	if _, can := d.Options.(database.SessionDialer); !can {
		report := r.Warnf
		if own.Given() {
			report = r.Errorf
		}
		report(at, "sessions: those of %s cannot be held: %s", d.Name, d.Info.NoSessions)
		return Plan{}
	}
	place := func(key string) *yamlfile.Node {
		if w.Has(key) {
			return w.NodeOf(key)
		}
		return at
	}
	complete := true
	for _, key := range required() {
		if w.Has(key.name) {
			continue
		}
		// A value that cannot be read is already reported.
		if complete = false; !gives(own, key.name) && !gives(all, key.name) {
			r.Errorf(cmp.Or(all.Node, own.Node), "sessions need %s: %s", key.name, key.such)
		}
	}
	if !complete {
		return Plan{}
	}
	p := section().Filled(w)
	if p.Keep == 0 && !w.Has("keep") {
		p.Keep = p.TTL / 3
	}
	if !w.Has("after") {
		p.After = cmp.Or(d.Load.Duration/3, 10*time.Second)
	}
	check(r, p, place, d)
	return p
}

// gives reports whether a mapping in the file has a key, whatever its value.
func gives(w yamlfile.Written[Plan], key string) bool {
	return w.Given() && yamlfile.HasKey(w.Node, key)
}

// requiredKey is a key without a default, with an example.
type requiredKey struct{ name, such string }

func required() []requiredKey {
	return []requiredKey{{"held", "how many are held, such as held: 1000"}, {"ttl", "the time without a renewal after which one is to end, such as ttl: 10s"}}
}

// check reports impossible values.
func check(r *yamlfile.Reader, p Plan, place func(string) *yamlfile.Node, d *ability.Database) {
	if p.Held < 1 || p.Held > most {
		r.Errorf(place("held"), "sessions: held must be from 1 to %d, got %d", most, p.Held)
	}
	if p.Keys < 1 || p.Keys > mostKeys {
		r.Errorf(place("keys"), "sessions: keys must be from 1 to %d, got %d", mostKeys, p.Keys)
	}
	if p.TTL <= 0 {
		r.Errorf(place("ttl"), "sessions: ttl must be positive, got %v", p.TTL)
	} else if p.Keep <= 0 || p.Keep >= p.TTL {
		r.Errorf(place("keep"), "sessions: keep must be positive and less than the ttl of %v, got %v", p.TTL, p.Keep)
	}
	if d.Search != nil {
		r.Errorf(place("held"), "sessions: %s has no time for them", d.Search.Words)
	}
	facts := database.SessionFactsOf(d.Info, d.Options)
	if facts == nil {
		return
	}
	if granted := facts.Granted(p.TTL); p.TTL > 0 && granted != p.TTL {
		r.Warnf(place("ttl"), "sessions: %s grants TTLs of %s: its sessions get %v", d.Name, facts.Bounds(), granted)
	}
}
