package shared

import (
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/workload"
)

// CheckSpeed returns an error for every database on a shared cluster whose load has a step without
// a rate: a closed loop takes the whole throughput. Unless full speed is allowed, it also refuses
// more than [deaths.MostShared] sessions there, held or taken by the load, more than
// [locks.MostShared] contenders for locks, more than [watchers.MostShared] watchers, and more than
// [discovery.MostShared] instances and consumers in service discovery.
func CheckSpeed(e *config.Experiment, allowed bool) error {
	var errs []error
	for i := range e.Databases {
		if db := &e.Databases[i]; !allowed && db.FullSpeed() {
			place := e.Place("databases." + db.ID + ".endpoints")
			if place != "" {
				place += ": "
			}
			errs = append(errs, fmt.Errorf("%s%s: a load without a rate uses all the capacity of a cluster, and others may use these endpoints: give a rate, or pass --full-speed", place, db.ID))
		}
	}
	for i := range e.Databases {
		db := &e.Databases[i]
		if n := db.Load.Sessions; !allowed && len(db.Endpoints) > 0 && n > deaths.MostShared {
			errs = append(errs, fmt.Errorf("%s: others may use these endpoints: at most %d sessions may be granted before a load, got %d; give fewer, or pass --full-speed", db.ID, deaths.MostShared, n))
		}
		if held := deaths.Keys().Of(db.Abilities).Held; !allowed && len(db.Endpoints) > 0 && held > deaths.MostShared {
			errs = append(errs, fmt.Errorf("%s: others may use these endpoints: sessions must have at most %d held, got %d; give fewer, or pass --full-speed", db.ID, deaths.MostShared, held))
		}
		if n := db.Load.MostClients(); !allowed && len(db.Endpoints) > 0 && db.Load.Any(workload.Op.Locks) && n > locks.MostShared {
			errs = append(errs, fmt.Errorf("%s: others may use these endpoints: a load that takes locks may have at most %d clients, each a contender, got %d; give fewer, or pass --full-speed", db.ID, locks.MostShared, n))
		}
		if n := locks.Keys().Of(db.Abilities).Most(); !allowed && len(db.Endpoints) > 0 && n > locks.MostShared {
			errs = append(errs, fmt.Errorf("%s: others may use these endpoints: locks must have at most %d contenders at the same time, got %d; give fewer, or pass --full-speed", db.ID, locks.MostShared, n))
		}
		if p := discovery.Keys().Of(db.Abilities); !allowed && len(db.Endpoints) > 0 && p.Instances+p.Consumers > discovery.MostShared {
			errs = append(errs, fmt.Errorf("%s: others may use these endpoints: discovery may have at most %d instances and consumers, got %d; give fewer, or pass --full-speed", db.ID, discovery.MostShared, p.Instances+p.Consumers))
		}
		if n := watchers.Keys().Of(db.Abilities).Most(); !allowed && len(db.Endpoints) > 0 && n > watchers.MostShared {
			errs = append(errs, fmt.Errorf("%s: others may use these endpoints: watch must have at most %d watchers, got %d; give fewer, or pass --full-speed", db.ID, watchers.MostShared, n))
		}
	}
	return errors.Join(errs...)
}
