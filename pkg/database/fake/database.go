package fake

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// Database returns the fake as a registry lists it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			Reads: []workload.ReadMode{workload.ReadLinearizable},
			Promises: map[workload.ReadMode]database.Promise{
				workload.ReadLinearizable: {Linearizable: true, Text: "the leader alone has the keys"},
			},
			Operations: database.WithLocks(database.OperationsOf((*client)(nil))),
			Ports:      map[string]int{"client": 7379},
			Embedded:   Version,
			Failover:   workload.FailoverNone,
			MaxValue:   maxValue,
			Fsync:      "none: the leader appends to a file and never syncs it",
			Durability: declared.NeverSynced,
			Sessions:   facts(expiry.Exact),
			Locks:      lockFacts(),
			Watches:    watchFacts(),
		},
		New: func() database.Driver { return New() },
	}
}
