package forecast

import (
	"cmp"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/ability/resources"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Fractions of a limit. Sizes are measured to about a tenth: data 1.1 times as large as the limit
// certainly does not fit, and data above 0.8 may not.
const (
	surely  = 1.1
	perhaps = 0.8
)

// findings compares the needs of one member with its limits and with the machine.
func findings(e *config.Experiment, db *config.Database, f Forecast, here *Machine) (list []Finding) {
	for _, need := range f.Needs {
		limit, by, sure := limitOf(db, need, here)
		if one, found := finding(e, db, f, need, limit, by, sure); found {
			list = append(list, one)
		}
	}
	return list
}

// limitOf returns the lowest limit on need that is known before agents are asked, who sets it, and
// whether it certainly holds; 0 is no limit. here may be nil.
func limitOf(db *config.Database, need database.Need, here *Machine) (limit int64, by string, sure bool) {
	if need.Limit > 0 {
		return need.Limit, need.Option, true
	}
	if here != nil {
		limit, by = here.limit(need.Resource, len(db.Hosts))
		sure = here.surely(need.Resource)
	}
	// About half the measured memory is garbage. A program collects it more often the nearer it is
	// to its limit: data that fits gets no warning, and data twice as large as the limit certainly
	// does not fit.
	most := resources.Keys().Of(db.Abilities).MemoryBytes
	if need.Resource == database.ResourceMemory && most > 0 && need.Bytes > most && (limit == 0 || most < limit) {
		limit, by, sure = most, "resources.memory", need.Bytes > 2*most
	}
	return limit, by, sure
}

// finding compares need with limit. sure reports whether the limit certainly holds.
func finding(e *config.Experiment, db *config.Database, f Forecast, need database.Need, limit int64, by string, sure bool) (Finding, bool) {
	part := float64(need.Bytes) / float64(limit)
	if limit <= 0 || part <= perhaps || expected(db.Load.Expect, part) {
		return Finding{}, false
	}
	least := f.sure[need.Resource]
	// Classic files can't state the errors that they expect, and some fill a store on purpose.
	refused := !e.Classic && float64(least.Bytes) > surely*float64(limit) && !db.Load.Expect.Failures() && sure
	if refused {
		f.Data, need = f.least, least
	}
	key, place := cause(e, db, f.Data.Writes == f.Data.Before)
	return Finding{Place: place, Text: key + ": " + db.Tag + ": " + text(f, need, limit, by), Refused: refused}, true
}

// expected reports whether a load expects as many failures as follow once a resource is full. part
// is the data divided by the limit.
func expected(e workload.Expect, part float64) bool {
	failed := max(0, 1-1/part) * 100
	return e.Failures() && float64(e.Failed+e.Unknown) >= failed
}

// text describes a need above its limit.
func text(f Forecast, need database.Need, limit int64, by string) string {
	of := f.Data
	what := fmt.Sprintf("%s keys of %s + %s bytes", humanize.Comma(of.Keys), humanize.Comma(of.KeySize), humanize.Comma(of.ValueSize))
	if of.Writes > of.Keys {
		what += fmt.Sprintf(", written %s times,", humanize.Comma(of.Writes))
	}
	guess := ""
	if f.guesses(need) {
		guess = "perhaps "
	}
	t := fmt.Sprintf("%s need %sabout %s of %s on each member, and %s is %s", what, guess, Bytes(need.Bytes), need.Resource, cmp.Or(by, "its limit"), Bytes(limit))
	if part := float64(need.Bytes) / float64(limit); part > 1 {
		t += fmt.Sprintf(": room for %.0f %% of them", 100/part)
	}
	if need.Why != "" {
		t += " (" + need.Why + ")"
	}
	return t
}

// Bytes prints a size in powers of 1000, as reports do.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }

// cause returns the key that decides most writes, and its place: in the database, else in the file.
// With before set, only keys before the load count.
func cause(e *config.Experiment, db *config.Database, before bool) (key, place string) {
	l := &db.Load
	if s := e.Search(); s != nil && e.Place(s.Key) != "" {
		return s.Key, e.Place(s.Key)
	}
	keys := []string{"requests", "duration", "steps", "keys"}
	if l.Requests == 0 {
		keys = []string{"duration", "steps", "keys"}
	}
	if before || !l.Any(workload.Op.SendsValue) || l.Requests > 0 && l.Existing() > l.Requests {
		keys = []string{"preload", "keys"}
	}
	for _, key := range keys {
		for _, path := range []string{"databases." + db.ID + ".load." + key, "load." + key} {
			if place := e.Place(path); place != "" {
				return key, place
			}
		}
	}
	return keys[0], e.Path
}
