// Package locks declares contenders for locks during a load: how fast a lock changes hands, how
// fairly, and whether two ever hold it at once.
package locks

import (
	"cmp"
	"fmt"
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
	return ability.Ability{Name: "locks", Keys: Keys(), Record: Record(), Observes: []observation.Group{Observed()}}
}

// Plan describes the numbers of contenders and locks. Without contenders there is no plan.
type Plan struct {
	// Names is the number of locks. Each has its own contenders.
	Names int `json:"names"`
	// Contenders has one number per stage: the contenders for each lock.
	Contenders []int `json:"contenders"`
	// Hold is the time for which a holder keeps its lock.
	Hold time.Duration `json:"hold_ns"`
	// Recipe is the way to take a lock.
	Recipe string `json:"recipe"`
	// TTL is the requested TTL of sessions.
	TTL time.Duration `json:"ttl_ns"`
	// Delays means that the database has a LockDelay: the time after a holder's death in which no
	// contender gets its lock.
	Delays    bool          `json:"delays,omitempty"`
	LockDelay time.Duration `json:"lock_delay_ns,omitempty"`
	// Elect means that holders die one after another instead of releasing their locks.
	Elect bool `json:"elect,omitempty"`
}

// Wanted reports whether there are contenders.
func (p Plan) Wanted() bool { return len(p.Contenders) > 0 }

// Most returns the largest number of contenders at the same time.
func (p Plan) Most() int {
	if !p.Wanted() {
		return 0
	}
	return p.Names * slices.Max(p.Contenders)
}

// Options returns contender options.
func (p Plan) Options() database.LockOptions {
	return database.LockOptions{Recipe: p.Recipe, TTL: p.TTL, Delay: p.LockDelay}
}

// Stage returns the duration of each stage in a load. There is one stage for each number of
// contenders, after an equally long time without contenders. It is 0 if the load duration is not
// certain.
func (p Plan) Stage(l workload.Load) time.Duration {
	var length time.Duration
	for _, s := range l.Stretches() {
		if s.Duration <= 0 {
			return 0
		}
		length += s.Duration
	}
	return length / time.Duration(len(p.Contenders)+1)
}

// Bounds on a plan. MostShared is the most contenders that a shared cluster may have without
// --full-speed.
const (
	most       = 10_000
	mostStages = 20
	leastStage = time.Second
	MostShared = 1000
)

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "locks", Meaning: "[locks](locks.md) for which contenders compete during the load, for databases with locks: the [`locks` keys](#keys-of-locks)",
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
	return yamlfile.Section[Plan]{Fields: []yamlfile.Field[Plan]{
		yamlfile.Key[Plan, int]{
			Row:  yamlfile.Row{Name: "names", Preset: "1", Meaning: "number of locks, each with the same number of contenders"},
			Kind: yamlfile.SmallKind(), At: func(p *Plan) *int { return &p.Names },
		}.Field(),
		yamlfile.Key[Plan, []int]{
			Row:  yamlfile.Row{Name: "contenders", Unit: "list of numbers", Usually: "required", Meaning: fmt.Sprintf("contenders for each lock, in successive stages of equal length, such as `[2, 10, 100]`; at most %d at the same time; more than %d on a cluster that others use need --full-speed", most, MostShared)},
			Kind: yamlfile.ListKind(yamlfile.SmallKind(), true), At: func(p *Plan) *[]int { return &p.Contenders },
		}.Field(),
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "hold", Usually: "1ms, with `elect` 1s", Meaning: "how long a holder keeps its lock; 0s releases it at once"},
			Kind: yamlfile.ShortDurationKind(), At: func(p *Plan) *time.Duration { return &p.Hold },
		}.Field(),
		yamlfile.Key[Plan, string]{
			Row:  yamlfile.Row{Name: "recipe", Usually: "the database's first", Meaning: "how a lock is taken: `library`, as the common client library does it, or `direct`, the best known way to use the protocol ([databases](locks.md#the-databases))"},
			Kind: yamlfile.FilledKind(), At: func(p *Plan) *string { return &p.Recipe },
		}.Field(),
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "ttl", Preset: "10s", Meaning: "time without a renewal after which a contender's session should end, and with it its hold on a lock; the report shows the TTL that members granted"},
			Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.TTL },
		}.Field(),
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "lock_delay", Usually: "the database's own", Meaning: "how long nobody gets a lock after its holder died, for databases with such a delay (Consul)"},
			Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.LockDelay },
			Shown: func(p *Plan) bool { return p.Delays },
		}.Field(),
		yamlfile.Key[Plan, bool]{
			Row:  yamlfile.Row{Name: "elect", Preset: "false", Meaning: "whether holders never release: each dies after `hold` without closing its session, and a new contender takes its place"},
			Kind: yamlfile.TruthKind(), At: func(p *Plan) *bool { return &p.Elect },
			Shown: func(p *Plan) bool { return p.Elect },
		}.Field(),
	}}
}

// The defaults for Hold.
const (
	briefly = time.Millisecond
	elected = time.Second
)

// resolve resolves the locks for a database. Keys at the top of the file apply to databases with
// locks.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[Plan], d *ability.Database) Plan {
	if !own.Given() && !all.Given() {
		return Plan{}
	}
	w := section().Over(own, all)
	at := all.Node
	if own.Given() {
		at = own.Node
	}
	facts := database.LockFactsOf(d.Info, d.Options)
	if _, can := d.Options.(database.LockDialer); !can || facts == nil {
		report := r.Warnf
		if own.Given() {
			report = r.Errorf
		}
		report(at, "locks: nobody can contend for those of %s: %s", d.Name, d.Info.NoLocks)
		return Plan{}
	}
	c := check{r: r, d: d, facts: facts, place: func(key string) *yamlfile.Node {
		if w.Has(key) {
			return w.NodeOf(key)
		}
		return at
	}}
	if !w.Has("contenders") {
		if !gives(own) && !gives(all) { // a value that cannot be read is already reported
			r.Errorf(cmp.Or(all.Node, own.Node), "locks need contenders: how many compete for each, such as contenders: [2, 10, 100]")
		}
		return Plan{}
	}
	p := section().Filled(w)
	if !p.Wanted() && len(c.place("contenders").Content) > 0 {
		return Plan{} // each is already reported
	}
	if !w.Has("hold") {
		if p.Hold = briefly; p.Elect {
			p.Hold = elected
		}
	}
	if p.Delays = facts.Delayed != ""; p.Delays && !w.Has("lock_delay") {
		p.LockDelay = facts.Delay
	}
	c.recipe(&p)
	c.numbers(p)
	c.times(p)
	return p
}

// gives reports whether a mapping in the file has contenders, whatever they are.
func gives(w yamlfile.Written[Plan]) bool {
	return w.Given() && yamlfile.HasKey(w.Node, "contenders")
}

// check reports impossible values.
type check struct {
	r     *yamlfile.Reader
	d     *ability.Database
	facts *database.LockFacts
	place func(key string) *yamlfile.Node
}

// recipe checks the recipe, and fills it in.
func (c check) recipe(p *Plan) {
	recipe, err := c.facts.Recipe(p.Recipe)
	if err != nil {
		c.r.Errorf(c.place("recipe"), "locks: %s has no recipe %q%s", c.d.Name, p.Recipe, yamlfile.Hint(p.Recipe, c.facts.Names()))
	}
	p.Recipe = cmp.Or(recipe.Name, p.Recipe)
}

// numbers checks contender numbers.
func (c check) numbers(p Plan) {
	least := 1
	if p.Elect {
		least = 2
	}
	switch {
	case !p.Wanted():
		c.r.Errorf(c.place("contenders"), "locks: contenders must be at least one number, such as [2, 10, 100]")
	case len(p.Contenders) > mostStages:
		c.r.Errorf(c.place("contenders"), "locks: contenders must be at most %d numbers, got %d", mostStages, len(p.Contenders))
	}
	for i, n := range p.Contenders {
		switch {
		case n < least || n > most:
			c.r.Errorf(c.place("contenders"), "locks: contenders must be numbers from %d to %d, got %d", least, most, n)
		case slices.Contains(p.Contenders[:i], n):
			c.r.Errorf(c.place("contenders"), "locks: contenders must be given once each, got %d twice", n)
		}
	}
	if p.Names < 1 || p.Names > most {
		c.r.Errorf(c.place("names"), "locks: names must be from 1 to %d, got %d", most, p.Names)
	} else if p.Wanted() && slices.Max(p.Contenders) <= most && p.Most() > most {
		c.r.Errorf(c.place("names"), "locks: at most %d contenders can compete at the same time, got %d for %d names", most, p.Most(), p.Names)
	}
	if c.d.Search != nil {
		c.r.Errorf(c.place("contenders"), "locks: %s has no time for them", c.d.Search.Words)
	}
}

// times checks the times against one another and against the TTLs that the database grants.
func (c check) times(p Plan) {
	switch granted := c.facts.Session.Granted(p.TTL); {
	case p.TTL <= 0:
		c.r.Errorf(c.place("ttl"), "locks: ttl must be positive, got %v", p.TTL)
	case granted != p.TTL:
		c.r.Warnf(c.place("ttl"), "locks: %s grants TTLs of %s: its sessions get %v", c.d.Name, c.facts.Session.Bounds(), granted)
	}
	switch {
	case !p.Delays && p.LockDelay > 0:
		c.r.Errorf(c.place("lock_delay"), "locks: %s has no time for which a lock is kept back after its holder's death", c.d.Name)
	case p.Delays && p.LockDelay > c.facts.MostDelay:
		c.r.Errorf(c.place("lock_delay"), "locks: lock_delay must be at most %v, got %v", c.facts.MostDelay, p.LockDelay)
	}
	if !p.Wanted() || c.d.Search != nil {
		return
	}
	stage := p.Stage(c.d.Load)
	switch {
	case stage == 0:
		c.r.Errorf(c.place("contenders"), "locks: the load needs a duration, of which each number of contenders gets a part")
	case stage < leastStage:
		c.r.Errorf(c.place("contenders"), "locks: the load must last at least %v, so that %d numbers of contenders, and the time before them, have %v each", leastStage*time.Duration(len(p.Contenders)+1), len(p.Contenders), leastStage)
	case p.Hold >= stage:
		c.r.Errorf(c.place("hold"), "locks: hold must be less than the %v that each number of contenders gets of the load, got %v", stage, p.Hold)
	}
	if recipe, err := c.facts.Recipe(p.Recipe); err == nil && p.Elect && p.TTL > 0 && stage >= leastStage {
		if _, latest := c.facts.Passes(recipe, p.Options()); p.Hold+latest+Margin >= stage {
			c.r.Errorf(c.place("elect"), "locks: a lock of %s passes up to %v after its holder's death, which is too long for the %v that each number of contenders gets of the load", c.d.Name, latest, stage)
		}
	}
}

// Margin is the time beyond the rule that a lock may take to pass on. A holder with less time left
// does not die.
const Margin = time.Second
