package zookeeper

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// Database returns ZooKeeper as a registry lists it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			Reads:      []workload.ReadMode{workload.ReadSyncGet, workload.ReadStale},
			Promises:   Promises(),
			Operations: Operations(),
			Ports:      map[string]int{"client": 2181, "peer": 2888, "election": 3888},
			Tools:      []string{toolJars, toolJava},
			// A client tries the next server in its connect string.
			Failover:   workload.FailoverNext,
			TLS:        true,
			Auth:       true,
			MaxValue:   New().protocol().MaxValue(limitKeySize),
			Fsync:      fsyncEach,
			Durability: declared.EveryWrite,
			Sessions:   sessionFacts(New().tick()),
			Locks:      LockFacts(*sessionFacts(New().tick())),
			Watches:    watchFacts(),
		},
		New: func() database.Driver { return New() },
	}
}
