package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// record has the manifest fields for a database that are compared.
type record struct {
	LoadEnd    time.Time `json:"load_end"`
	Discovered *struct {
		Began      time.Time `json:"began"`
		Registered int       `json:"registered"`
		Keeps      spread    `json:"keeps"`
		KeepsLost  int64     `json:"keeps_lost"`
		KeepsLate  int64     `json:"keeps_late"`
		Early      int       `json:"early"`
		Alive      int       `json:"alive"`
		Unrenewed  int       `json:"unrenewed"`
		Missed     int       `json:"missed"`
		Lost       int       `json:"lost"`
		Changes    []change  `json:"changes"`
	} `json:"discovered"`
}

// spread describes the renewal times in the records.
type spread struct {
	N   int64         `json:"n"`
	P99 time.Duration `json:"p99_ns"`
	Max time.Duration `json:"max_ns"`
}

// change is a death or a deploy in the records.
type change struct {
	Kind     string        `json:"kind"`
	Instance int           `json:"instance"`
	At       time.Duration `json:"at_ns"`
	All      bool          `json:"all"`
	Whole    time.Duration `json:"whole_ns"`
	Left     time.Duration `json:"left_ns"`
	Late     time.Duration `json:"late_ns"`
	Again    time.Duration `json:"again_ns"`
	FanOut   time.Duration `json:"fan_out_ns"`
}

// read reads the record for the only database in a run from its manifest.
func read(path string) (r record, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	var manifest struct{ Databases []record }
	if err := json.Unmarshal(data, &manifest); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	if len(manifest.Databases) != 1 || manifest.Databases[0].Discovered == nil {
		return r, fmt.Errorf("read %s: it must have one database with instances", path)
	}
	return manifest.Databases[0], nil
}

// death compares both measurements for a death. whole is the time until all dbtester consumers
// knew. first and last are by how much its first and last consumer were later than the first and
// last prober watch. known means that dbtester has these times, and seen that all prober watches
// have them.
type death struct {
	whole       time.Duration
	known, seen bool
	first, last time.Duration
}

// apart returns the larger difference.
func (d death) apart() time.Duration { return max(d.first.Abs(), d.last.Abs()) }

// verdict sums up the runs on a store.
type verdict struct {
	name      string
	tolerance time.Duration
	deaths    []death
	// changes counts the deaths and deploys that all consumers knew, added those whose parts add up
	// to the whole.
	changes, added int
	// Living instances that were declared dead: alive and unrenewed by the dbtester records,
	// against the rule in the store or for lack of renewals, and outside by the prober.
	alive, unrenewed, outside int
	lost                      int
	why                       error // from a prober watch
	failed                    error // from a run, after which the store was left
	// registered instances were kept alive by renewals, those in the last run.
	registered int
	renewals   spread
	// unanswered renewals were lost, and late ones were sent late.
	unanswered, late int64
}

// compare compares a run record with the prober watches through each member.
func compare(name string, o options, r record, seen []*sight) verdict {
	of := r.Discovered
	v := verdict{name: name, tolerance: o.tolerance, alive: of.Alive, unrenewed: of.Unrenewed + of.Missed, lost: of.Lost,
		registered: of.Registered, renewals: of.Keeps, unanswered: of.KeepsLost, late: of.KeepsLate}
	over := map[int]time.Time{} // when instances died or were released
	for _, c := range of.Changes {
		at := of.Began.Add(c.At)
		over[c.Instance] = at
		if c.All {
			v.changes++
			if c.adds() {
				v.added++
			}
		}
		if c.Kind != "death" {
			continue
		}
		d := death{whole: c.Whole, known: c.All}
		first, last, all := ends(seen, registration{instance: c.Instance})
		if d.seen = all; all {
			d.first, d.last = at.Add(c.Left+c.Late).Sub(first), at.Add(c.Whole).Sub(last)
		}
		v.deaths = append(v.deaths, d)
	}
	declared := map[registration]bool{}
	for _, s := range seen {
		for is, at := range s.gone {
			if end, ends := over[is.instance]; at.Before(r.LoadEnd) && !(ends && is.generation == 0 && !at.Before(end)) {
				declared[is] = true
			}
		}
		if v.why == nil {
			v.why = s.why
		}
	}
	v.outside = len(declared)
	return v
}

// add adds the verdict on another run.
func (v *verdict) add(o verdict) {
	v.deaths = append(v.deaths, o.deaths...)
	v.changes, v.added, v.lost = v.changes+o.changes, v.added+o.added, v.lost+o.lost
	v.alive, v.unrenewed, v.outside = v.alive+o.alive, v.unrenewed+o.unrenewed, v.outside+o.outside
	v.registered, v.renewals, v.unanswered, v.late = o.registered, o.renewals, o.unanswered, o.late
	if v.why == nil {
		v.why = o.why
	}
}

// adds reports whether the parts add up to the whole, within a millisecond.
func (c change) adds() bool {
	return (c.Left + c.Late + c.Again + c.FanOut - c.Whole).Abs() <= time.Millisecond
}

// ends returns when a registration was gone by the first and by the last watch, and whether all saw it.
func ends(seen []*sight, is registration) (first, last time.Time, all bool) {
	for i, s := range seen {
		at, saw := s.gone[is]
		if !saw {
			return first, last, false
		}
		if i == 0 || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last, len(seen) > 0
}

// agree returns the number of deaths that both measured within the tolerance, and the largest
// difference in deaths that both measured.
func (v verdict) agree() (n int, most time.Duration) {
	for _, d := range v.deaths {
		if !d.known || !d.seen {
			continue
		}
		if most = max(most, d.apart()); d.apart() <= v.tolerance {
			n++
		}
	}
	return n, most
}

// text formats the verdict as a line.
func (v verdict) text() string {
	if v.failed != nil {
		return "failed"
	}
	n, most := v.agree()
	return fmt.Sprintf("%d of %d deaths agree, the largest difference is %v; the parts of %d of %d changes add up; %d alive declared dead, %d by the prober, %d not renewed; %d changes lost",
		n, len(v.deaths), most.Round(time.Microsecond), v.added, v.changes, v.alive, v.outside, v.unrenewed, v.lost)
}

// unseen counts the deaths that a prober watch missed.
func (v verdict) unseen() (n int) {
	for _, d := range v.deaths {
		if !d.seen {
			n++
		}
	}
	return n
}

// err returns an error for every failed check. Death times are checked unless instances are to be
// kept alive; missing renewals are checked if they are.
func (v verdict) err(o options) error {
	if v.failed != nil {
		return fmt.Errorf("%s: %w", v.name, v.failed)
	}
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(v.name+": "+format, args...))
		}
	}
	agree, _ := v.agree()
	wrong(len(v.deaths) == 0, "no instance died")
	wrong(v.unseen() > 0, "the prober did not see %d deaths through every member: a watch ended with %v", v.unseen(), v.why)
	wrong(o.alive == 0 && agree < len(v.deaths), "%d of %d deaths agree within %v", agree, len(v.deaths), v.tolerance)
	wrong(o.alive > 0 && v.unrenewed > 0, "%d living instances were not renewed in time", v.unrenewed)
	wrong(v.added < v.changes, "the parts of %d of %d changes add up", v.added, v.changes)
	wrong(v.alive+v.outside > 0, "%d living instances were declared dead, %d by the prober", v.alive, v.outside)
	wrong(v.lost > 0, "%d changes were lost", v.lost)
	return errors.Join(errs...)
}
