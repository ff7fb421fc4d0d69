// Package forecast computes before a run the memory and disk that the data needs on each member,
// where that fails, and roughly how long the load takes. Database drivers know the cost of each
// byte ([database.Sizer], [database.Pacer]).
package forecast

import (
	"errors"
	"time"

	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// Forecast describes the data, needs and length of the load on one database.
type Forecast struct {
	// Data is written by the end of the load. With Guessed set it is a guess, which depends on a
	// throughput not known before the run.
	Data    database.Data
	Guessed bool
	// Needs are the needs of one member; empty if the driver does not know them.
	Needs []database.Need
	// least is the part of Data that depends on no guess, and sure are its needs.
	least database.Data
	sure  map[database.Resource]database.Need
	// Length is the time for the load and the keys before it. It is exact if no throughput had to
	// be assumed, and 0 if it is not known.
	Length time.Duration
	Exact  bool
	// Findings are the reasons why the data does not fit.
	Findings []Finding
}

// Finding is why a run fails or differs from the file, such as a resource that the data fills.
type Finding struct {
	// Place is where the file gives the cause, as file:line:col; "" if it does not.
	Place string
	// Text begins with the key that is the cause.
	Text string
	// Refused is set if the run cannot end well. Other findings are warnings.
	Refused bool
}

// String returns the finding in the form in which config check prints problems.
func (f Finding) String() string {
	text := f.Text
	if !f.Refused {
		text = "warning: " + text
	}
	if f.Place == "" {
		return text
	}
	return f.Place + ": " + text
}

// Of returns the forecast for one database in an experiment. here is this machine, or nil. It
// matters to databases whose members all run on it.
func Of(e *config.Experiment, db *config.Database, here *Machine) Forecast {
	if !db.Steps.Load {
		return Forecast{Exact: true}
	}
	pace, _ := db.Options.(database.Pacer)
	w := workOf(&db.Load, pace)
	if s := e.Search(); s != nil {
		w = searchOf(func(rate float64) (all, step time.Duration) { return s.Lasts(e.Abilities, rate) }, db, pace)
	}
	f := Forecast{Data: w.data, Guessed: w.guessed, Length: w.length, Exact: w.exact, least: w.least}
	if sizer, ok := db.Options.(database.Sizer); ok {
		d, least := f.kept(db)
		f.Needs, f.sure = sizer.Needs(d), map[database.Resource]database.Need{}
		for _, need := range sizer.Needs(least) {
			f.sure[need.Resource] = need
		}
	}
	if len(db.Endpoints) > 0 {
		// A running cluster has its own settings.
		for i := range f.Needs {
			f.Needs[i].Limit, f.Needs[i].Option = 0, ""
		}
	}
	if !local(db) {
		here = nil
	}
	f.Findings = findings(e, db, f, here)
	return f
}

// kept returns the data that remains after upkeep, and the part without guesses: without a known
// length, neither the history nor the number of snapshots is certain.
func (f *Forecast) kept(db *config.Database) (all, sure database.Data) {
	plan := upkeep.Keys().Of(db.Abilities)
	all, sure = f.compacted(f.Data, plan.Compact), f.compacted(f.least, plan.Compact)
	if all.Writes < f.Data.Writes && !f.Exact {
		f.Guessed, sure.Writes = true, min(sure.Writes, sure.Keys)
	}
	if every := plan.Snapshot * time.Duration(max(len(db.Hosts), 1)); every > 0 { // each member in turn
		all.Snapshots = int64((f.Length + every - 1) / every)
		if f.Exact {
			sure.Snapshots = all.Snapshots
		}
		f.Guessed = f.Guessed || sure.Snapshots < all.Snapshots
	}
	return all, sure
}

// compacted returns data with the history that regular compaction leaves: two intervals, because
// one fills while the previous one is removed.
func (f *Forecast) compacted(d database.Data, every time.Duration) database.Data {
	if every > 0 && f.Length > 2*every && d.Writes > d.Keys {
		d.Writes = d.Keys + int64(float64(d.Writes-d.Keys)*2*every.Seconds()/f.Length.Seconds())
	}
	return d
}

// guesses reports whether need depends on a guess.
func (f *Forecast) guesses(need database.Need) bool {
	return f.Guessed && f.sure[need.Resource].Bytes < need.Bytes
}

// All returns the forecasts for all databases in an experiment, in its order.
func All(e *config.Experiment, here *Machine) []Forecast {
	list := make([]Forecast, len(e.Databases))
	for i := range e.Databases {
		list[i] = Of(e, &e.Databases[i], here)
	}
	return list
}

// Problems returns the findings for several databases, as [Split] does.
func Problems(all []Forecast) (warnings []string, err error) {
	var list []Finding
	for _, f := range all {
		list = append(list, f.Findings...)
	}
	return Split(list)
}

// Split returns the warnings in list, and an error with a line for each refusal.
func Split(list []Finding) (warnings []string, err error) {
	var refusals []error
	for _, one := range list {
		if one.Refused {
			refusals = append(refusals, errors.New(one.String()))
		} else {
			warnings = append(warnings, one.String())
		}
	}
	return warnings, errors.Join(refusals...)
}
