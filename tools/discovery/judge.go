package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// record is what a run recorded of a database.
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

// spread is of the times of renewals in the records.
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

// read reads the record of a run's one database from its manifest.
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

// death is one death by both: how long after it all consumers knew, and when dbtester's first and
// last consumer knew after the prober's first and last watch did. Known is that dbtester has these
// times, and seen that all watches of the prober do.
type death struct {
	whole       time.Duration
	known, seen bool
	first, last time.Duration
}

// apart is the larger difference.
func (d death) apart() time.Duration { return max(d.first.Abs(), d.last.Abs()) }

// verdict is what became of the deaths in a store.
type verdict struct {
	name      string
	tolerance time.Duration
	deaths    []death
	// changes are deaths and deploys that all knew, added those whose parts add up to the whole.
	changes, added int
	// alive instances were declared dead: by dbtester's account because its rule was broken, and
	// because they were not renewed; and by the prober's.
	alive, unrenewed, outside int
	lost                      int
	why                       error // of a watch of the prober
	failed                    error // of a run, after which the store was left
	// registered instances were kept alive by renewals, those of the last run.
	registered int
	renewals   spread
	// unanswered renewals were lost, and late ones were sent late.
	unanswered, late int64
}

// compare compares the record of a run with what the prober saw through each member.
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

// add adds the verdict of another run.
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

// agree is how many deaths both have at the same time, and the largest difference of those that both
// have.
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

// text is the verdict in a line.
func (v verdict) text() string {
	if v.failed != nil {
		return "failed"
	}
	n, most := v.agree()
	return fmt.Sprintf("%d of %d deaths agree, the largest difference is %v; the parts of %d of %d changes add up; %d alive declared dead, %d by the prober, %d not renewed; %d changes lost",
		n, len(v.deaths), most.Round(time.Microsecond), v.added, v.changes, v.alive, v.outside, v.unrenewed, v.lost)
}

// unseen is how many deaths some watch of the prober did not see.
func (v verdict) unseen() (n int) {
	for _, d := range v.deaths {
		if !d.seen {
			n++
		}
	}
	return n
}

// err is what is wrong, nil for nothing. The times of deaths count unless instances are to be kept alive,
// and renewals that were late or had no answer if they are.
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
