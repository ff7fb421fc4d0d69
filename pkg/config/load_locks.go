package config

import (
	"cmp"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Defaults for the time that requests hold a lock, and for the TTL of their sessions.
const (
	lockHold = time.Millisecond
	lockTTL  = 10 * time.Second
)

// lockFields declares the keys for locks that operations take.
func lockFields() []field[loadSpec] {
	return []field[loadSpec]{
		loadKey[time.Duration]{
			Row: row{Name: "lock_hold", Usually: "1ms",
				Meaning: "time for which a [`lock`](#locks) is held before it is released; 0s releases it at once"},
			Kind: yamlfile.ShortDurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Locks.Hold },
			Shown: func(l *loadSpec) bool { return l.Any(workload.Op.Locks) },
		}.Field(),
		loadKey[string]{
			Row: row{Name: "lock_recipe", Usually: "the database's first",
				Meaning: "way to take a `lock`: `library` or `direct` ([databases](locks.md#the-databases))"},
			Kind: yamlfile.FilledKind(), At: func(l *loadSpec) *string { return &l.Locks.Recipe },
			Shown: func(l *loadSpec) bool { return l.Any(workload.Op.Locks) },
		}.Field(),
		loadKey[time.Duration]{
			Row: row{Name: "lock_ttl", Usually: "10s",
				Meaning: "time to live of the sessions with which clients hold a `lock`"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Locks.TTL },
			Shown: func(l *loadSpec) bool { return l.Any(workload.Op.Locks) },
		}.Field(),
	}
}

// locks resolves the locks that operations take.
func (r *loadResolver) locks(l *workload.Load) {
	hold, recipe, ttl := r.spec.Place("lock_hold"), r.spec.Place("lock_recipe"), r.spec.Place("lock_ttl")
	facts := database.LockFactsOf(r.db.entry.Info, r.db.Options)
	if !l.Any(workload.Op.Locks) || facts == nil { // a database without locks was already reported
		for _, p := range yamlfile.PlacesInOrder(hold, recipe, ttl) {
			if !l.Any(workload.Op.Locks) {
				r.idle(p, "no operation of the load takes locks")
			}
		}
		l.Locks = workload.Locks{}
		return
	}
	if !hold.Set() {
		l.Locks.Hold = lockHold
	}
	if !ttl.Set() {
		l.Locks.TTL = lockTTL
	}
	l.Locks.Delay = facts.Delay
	is, err := facts.Recipe(l.Locks.Recipe)
	if err != nil {
		r.Errorf(recipe.At, "lock_recipe: %s has no recipe %q%s", r.db.entry.Name, l.Locks.Recipe, yamlfile.Hint(l.Locks.Recipe, facts.Names()))
	}
	l.Locks.Recipe = cmp.Or(is.Name, l.Locks.Recipe)
	switch granted := facts.Session.Granted(l.Locks.TTL); {
	case l.Locks.TTL <= 0:
		r.Errorf(ttl.At, "lock_ttl must be positive, got %v", l.Locks.TTL)
	case granted != l.Locks.TTL:
		r.Warnf(r.at("lock_ttl"), "lock_ttl: %s grants TTLs of %s: its sessions get %v", r.db.entry.Name, facts.Session.Bounds(), granted)
	}
	if longest := min(l.Timeout, workload.LongestHold); l.Locks.Hold >= longest {
		r.Errorf(r.at("lock_hold", "timeout"), "lock_hold must be less than the timeout of %v and at most %v, or nobody who waits gets a lock in time; got %v", l.Timeout, workload.LongestHold, l.Locks.Hold)
	}
}
