// Package discovery declares service instances, which register themselves during a load, and the
// consumers that follow which instances there are. It measures how soon all consumers know that an
// instance died or was deployed.
package discovery

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{Name: "discovery", Keys: Keys(), Record: Record(), Observes: []observation.Group{Observed()}}
}

// Plan describes the instances, their consumers and the acts. Without instances there is no plan.
type Plan struct {
	// Each instance registers a key in a session. Consumers watch all these keys.
	Instances int `json:"instances"`
	Consumers int `json:"consumers"`
	// Registry is how instances register: "" is Sessions.
	Registry Registry `json:"registry,omitempty"`
	// Notice is the time in which all consumers are to know of a death, 0 if the file does not say.
	Notice time.Duration `json:"notice_ns,omitempty"`
	// TTL is the TTL that is requested for sessions, and Keep the time between two renewals of one
	// session.
	TTL  time.Duration `json:"ttl_ns"`
	Keep time.Duration `json:"keep_ns"`
	// Deaths instances die, and Deploys others are released and register again, at random times in
	// Within, which begins After the load starts.
	Deaths  int           `json:"deaths"`
	Deploys int           `json:"deploys"`
	After   time.Duration `json:"after_ns"`
	Within  time.Duration `json:"within_ns"`
	// Elections is the number of times that the leader among the instances dies; with 0 they elect
	// no leader.
	Elections int `json:"elections,omitempty"`
}

// Wanted reports whether there are instances.
func (p Plan) Wanted() bool { return p.Instances > 0 }

// Registry is how instances register.
type Registry string

// The kinds of Registry.
const (
	// Sessions means database sessions, with a key each.
	Sessions Registry = "sessions"
	// Services means services in the database's own registry.
	Services Registry = "services"
)

// FactsOf returns the facts about the planned registrations in a database, or nil and why instances
// cannot register so.
func (p Plan) FactsOf(info database.Info, driver any) (*database.SessionFacts, string) {
	if p.Registry == Services {
		if r, ok := driver.(database.Registrar); ok {
			facts := r.Registry()
			return &facts, ""
		}
		return nil, "it has no registry of services"
	}
	facts := database.SessionFactsOf(info, driver)
	if _, can := driver.(database.SessionDialer); !can || facts == nil {
		return nil, cmp.Or(info.NoSessions, "it has no sessions")
	}
	return facts, ""
}

// Dial opens a connection for registrations, to a driver that has the facts for the plan.
func (p Plan) Dial(ctx context.Context, driver any, t database.Target) (database.Sessions, error) {
	if p.Registry == Services {
		return driver.(database.Registrar).DialRegistry(ctx, t)
	}
	return driver.(database.SessionDialer).DialSessions(ctx, t)
}

// Await returns once registrations reach all members of a driver that has the facts for the plan.
func (p Plan) Await(ctx context.Context, driver any, t database.Target) error {
	if p.Registry == Services {
		return driver.(database.Registrar).AwaitRegistry(ctx, t)
	}
	return nil
}

// Kind distinguishes deaths, deploys and elections.
type Kind string

// The kinds.
const (
	Death  Kind = "death"
	Deploy Kind = "deploy"
	// Election begins with the death of the leader.
	Election Kind = "election"
)

// Act is a death, a deploy or an election, at a time after the load starts. The instance is not
// known in advance for an election.
type Act struct {
	Kind     Kind
	Instance int
	At       time.Duration
}

// Acts returns the planned acts by time. No instance has two acts. The same seed gives the same
// acts.
func (p Plan) Acts(seed uint64) (acts []Act) {
	random := rand.New(rand.NewPCG(seed, uint64(p.Instances)))
	order := random.Perm(p.Instances)
	for _, part := range []struct {
		kind Kind
		n    int
	}{{Death, p.Deaths}, {Deploy, p.Deploys}} {
		for i := range min(part.n, len(order)) {
			at := (float64(i) + random.Float64()) / float64(part.n) * float64(p.Within)
			acts = append(acts, Act{part.kind, order[i], p.After + time.Duration(at)})
		}
		order = order[min(part.n, len(order)):]
	}
	for i := range p.Elections { // early in equal parts, so that there is time for the next leader
		at := (float64(i) + random.Float64()*early) / float64(p.Elections) * float64(p.Within)
		acts = append(acts, Act{Election, -1, p.After + time.Duration(at)})
	}
	slices.SortStableFunc(acts, func(a, b Act) int { return cmp.Compare(a.At, b.At) })
	return acts
}

// Bounds on a plan.
const (
	mostInstances = 100_000
	mostConsumers = 10_000
	// mostTold bounds the changes recorded for all consumers together.
	mostTold = 10_000_000
	// margin is the time between when a session ends at the latest and the end of the load.
	margin = 5 * time.Second
	// early is the share of the time between two elections in which the leader dies.
	early = .1
	// MostShared is the most instances and consumers that a shared cluster may have without
	// --full-speed.
	MostShared = 1000
)

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "discovery", Meaning: "[service instances](scenarios.md) that register during the load, die and are deployed, and consumers that watch them: the [`discovery` keys](#keys-of-discovery)",
		Fields: section, Resolved: resolve,
		Shown: func(p Plan, _ workload.Load) *yamlfile.Node {
			if !p.Wanted() {
				return nil
			}
			return section().Show(&p).Flow()
		},
	}
}

func section() yamlfile.Section[Plan] {
	number := func(row yamlfile.Row, at func(*Plan) *int) yamlfile.Field[Plan] {
		return yamlfile.Key[Plan, int]{Row: row, Kind: yamlfile.SmallKind(), At: at}.Field()
	}
	length := func(row yamlfile.Row, at func(*Plan) *time.Duration) yamlfile.Field[Plan] {
		return yamlfile.Key[Plan, time.Duration]{Row: row, Kind: yamlfile.DurationKind(), At: at, Shown: func(p *Plan) bool { return *at(p) != 0 }}.Field()
	}
	return yamlfile.Section[Plan]{Fields: []yamlfile.Field[Plan]{
		number(yamlfile.Row{Name: "instances", Usually: "required", Meaning: fmt.Sprintf("number of instances, each with a session and a key with a value as large as the load's, from 1 to %d; more than %d instances and consumers on a cluster that others use need --full-speed", mostInstances, MostShared)},
			func(p *Plan) *int { return &p.Instances }),
		number(yamlfile.Row{Name: "consumers", Preset: "10", Meaning: fmt.Sprintf("number of clients that watch all instances, each over its own connection, from 1 to %d", mostConsumers)},
			func(p *Plan) *int { return &p.Consumers }),
		yamlfile.Key[Plan, Registry]{
			Row:  yamlfile.Row{Name: "registry", Usually: "`sessions`", Meaning: "how instances register: with `sessions`, which have one key each, or as `services` in the database's own registry, which checks their health ([Consul](scenarios.md#the-databases))"},
			Kind: yamlfile.WordKind(Sessions, Services), At: func(p *Plan) *Registry { return &p.Registry }, Shown: func(p *Plan) bool { return p.Registry == Services },
		}.Field(),
		length(yamlfile.Row{Name: "notice", Usually: "none", Meaning: "time within which all consumers should know that an instance died; `ttl` is then the longest TTL with which the database's rule meets it"},
			func(p *Plan) *time.Duration { return &p.Notice }),
		length(yamlfile.Row{Name: "ttl", Usually: "from `notice`", Meaning: "time without a renewal after which a session should end; the report shows the TTL that members granted"},
			func(p *Plan) *time.Duration { return &p.TTL }),
		length(yamlfile.Row{Name: "keep", Usually: "a third of `ttl`", Meaning: "time between two renewals of a session, less than `ttl`"},
			func(p *Plan) *time.Duration { return &p.Keep }),
		number(yamlfile.Row{Name: "deaths", Preset: "0", Meaning: "number of instances that die at random times, without deregistering"},
			func(p *Plan) *int { return &p.Deaths }),
		number(yamlfile.Row{Name: "deploys", Preset: "0", Meaning: "number of other instances that are released at random times and register again under a new name"},
			func(p *Plan) *int { return &p.Deploys }),
		number(yamlfile.Row{Name: "elections", Preset: "0", Meaning: "how many times the leader dies; each time the instances elect a new leader, with a key that only one session can have; excludes deaths and deploys"},
			func(p *Plan) *int { return &p.Elections }),
		length(yamlfile.Row{Name: "after", Usually: "a fifth of the load's `duration`", Meaning: "time after the load starts during which nothing happens to the instances"},
			func(p *Plan) *time.Duration { return &p.After }),
		length(yamlfile.Row{Name: "within", Usually: "what is left of the load", Meaning: "time after `after` in which instances die and are deployed; after that, the load must last until the last session has ended"},
			func(p *Plan) *time.Duration { return &p.Within }),
	}}
}

// resolve resolves the instances for a database. A database without sessions is a problem, even if
// the keys apply to the whole file: all databases in a file are to do the same.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[Plan], d *ability.Database) Plan {
	if !own.Given() && !all.Given() {
		return Plan{}
	}
	w := section().Over(own, all)
	at := cmp.Or(own.Node, all.Node)
	place := func(key string) *yamlfile.Node { return cmp.Or(w.NodeOf(key), at) }
	p := section().Filled(w)
	if p.Registry == Sessions {
		p.Registry = "" // as without the key
	}
	facts, why := p.FactsOf(d.Info, d.Options)
	if why != "" {
		if p.Registry != "" {
			at = place("registry")
		}
		r.Errorf(at, "discovery: instances cannot register in %s: %s", d.Name, why)
		return Plan{}
	}
	if !w.Has("instances") {
		// A value that cannot be read is already reported.
		if !gives(own, "instances") && !gives(all, "instances") {
			r.Errorf(at, "discovery needs instances: how many register, such as instances: 200")
		}
		return Plan{}
	}
	if !w.Has("ttl") && !p.promise(r, place, gives(own, "notice") || gives(all, "notice"), facts, d.Name) {
		return Plan{}
	}
	if !w.Has("keep") {
		p.Keep = p.TTL / 3
	}
	if p.Elections > 0 && !facts.Takes {
		r.Errorf(place("elections"), "discovery: instances in %s cannot elect a leader: no key is for one %s alone", d.Name, facts.What)
		return Plan{}
	}
	p.check(r, place, d)
	p.checkTimes(r, w, place, d, facts)
	return p
}

// checkElections reports elections that leave no time for the next leader: a leader's session lasts
// up to ends after its last renewal, and its key is then refused to everybody for refused.
func (p *Plan) checkElections(r *yamlfile.Reader, place func(string) *yamlfile.Node, ends, refused time.Duration) {
	each := time.Duration((1 - early) * float64(p.Within) / float64(max(p.Elections, 1)))
	if p.Elections <= 0 || p.Within <= 0 || each >= ends+refused {
		return
	}
	text := ""
	if refused > 0 {
		text = fmt.Sprintf(", and its key is refused for %v then", refused)
	}
	r.Errorf(place("elections"), "discovery: %v is too short for each of %d elections, as the leader's session ends up to %v after its last renewal%s: give the load a longer duration", each.Round(time.Millisecond), p.Elections, ends, text)
}

// gives reports whether a mapping in the file has a key, whatever its value.
func gives(w yamlfile.Written[Plan], key string) bool {
	return w.Given() && yamlfile.HasKey(w.Node, key)
}

// promise sets the longest TTL that keeps the notice by the database's rule. If there is no such
// TTL, it sets the shortest and warns. It reports a plan without a notice.
func (p *Plan) promise(r *yamlfile.Reader, place func(string) *yamlfile.Node, given bool, facts *database.SessionFacts, name string) bool {
	if p.Notice <= 0 {
		if !given || p.Notice < 0 {
			r.Errorf(place("notice"), "discovery needs notice, the time in which all consumers are to know of a death, such as notice: 20s, or the ttl of the sessions")
		}
		return false
	}
	ttl, kept := facts.LongestTTL(p.Notice)
	if p.TTL = ttl; !kept {
		_, latest := facts.Ends(ttl, 1)
		r.Warnf(place("notice"), "discovery: %s cannot promise that a death is known within %v: its shortest TTL is %v, and a session ends up to %v after its last renewal", name, p.Notice, ttl, latest)
	}
	return true
}

// check reports impossible numbers.
func (p *Plan) check(r *yamlfile.Reader, place func(string) *yamlfile.Node, d *ability.Database) {
	if p.Instances < 1 || p.Instances > mostInstances {
		r.Errorf(place("instances"), "discovery: instances must be from 1 to %d, got %d", mostInstances, p.Instances)
	}
	if p.Consumers < 1 || p.Consumers > mostConsumers {
		r.Errorf(place("consumers"), "discovery: consumers must be from 1 to %d, got %d", mostConsumers, p.Consumers)
	}
	switch {
	case p.Deaths < 0 || p.Deploys < 0:
		r.Errorf(place("deaths"), "discovery: deaths and deploys must be at least 0, got %d and %d", p.Deaths, p.Deploys)
	case p.Deaths+p.Deploys > p.Instances:
		r.Errorf(place("deaths"), "discovery: an instance dies or is deployed once: deaths and deploys must be at most the %d instances together, got %d and %d", p.Instances, p.Deaths, p.Deploys)
	case p.Elections < 0 || p.Elections >= max(p.Instances, 1):
		r.Errorf(place("elections"), "discovery: a leader dies in each election: elections must be from 0 to less than the %d instances, got %d", p.Instances, p.Elections)
	case p.Elections > 0 && p.Deaths+p.Deploys > 0:
		r.Errorf(place("elections"), "discovery: in elections the leader alone dies: leave out deaths and deploys, got %d and %d", p.Deaths, p.Deploys)
	case (p.Deaths+2*p.Deploys+2*p.Elections)*p.Consumers > mostTold:
		key := "deaths"
		if p.Elections > 0 {
			key = "elections"
		}
		r.Errorf(place(key), "discovery: all consumers together may notice at most %d changes, got %d deaths, %d deploys and %d elections with %d consumers", mostTold, p.Deaths, p.Deploys, p.Elections, p.Consumers)
	}
	if p.TTL <= 0 {
		r.Errorf(place("ttl"), "discovery: ttl must be positive, got %v", p.TTL)
	} else if p.Keep <= 0 || p.Keep >= p.TTL {
		r.Errorf(place("keep"), "discovery: keep must be positive and less than the ttl of %v, got %v", p.TTL, p.Keep)
	}
	if d.Search != nil {
		r.Errorf(place("instances"), "discovery: %s has no time for it", d.Search.Words)
	}
}

// checkTimes completes the planned times, and reports a load that is too short for them.
func (p *Plan) checkTimes(r *yamlfile.Reader, w yamlfile.Written[Plan], place func(string) *yamlfile.Node, d *ability.Database, facts *database.SessionFacts) {
	l := &d.Load
	if l.Duration <= 0 || l.Requests > 0 || len(l.Steps) > 0 {
		r.Errorf(place("instances"), "discovery: instances die in a part of the load's duration: give the load a duration and neither requests nor steps")
		return
	}
	if !w.Has("after") {
		p.After = l.Duration / 5
	}
	granted := facts.Granted(p.TTL)
	_, latest := facts.Ends(granted, p.Deaths)
	latest = max(latest, p.Notice) + margin
	left := l.Duration - p.After - latest
	if !w.Has("within") {
		p.Within = left
	}
	if p.After <= 0 || p.Within <= 0 || p.Within > left {
		r.Errorf(place("within"), "discovery: the load must last for %v (after %v, %v in which instances die, and %v until the last death is known), it lasts %v",
			p.After+max(p.Within, 1*time.Second)+latest, p.After, max(p.Within, 1*time.Second), latest, l.Duration)
	}
	p.checkElections(r, place, latest-margin, facts.Refused)
	if w.Has("ttl") && granted != p.TTL {
		r.Warnf(place("ttl"), "discovery: %s grants TTLs of %s: its sessions get %v", d.Name, facts.Bounds(), granted)
	}
}
