package consul

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// Database returns Consul as a registry lists it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			// The default in Consul is a read under the leader lease.
			Reads: []workload.ReadMode{workload.ReadLeader, workload.ReadStale, workload.ReadLinearizable},
			Promises: map[workload.ReadMode]database.Promise{
				workload.ReadLinearizable: {Linearizable: true, Text: "the leader confirms with a quorum that it leads"},
				workload.ReadLeader:       {Text: "the leader answers while its lease lasts, and one that was replaced may still do so"},
				workload.ReadStale:        {Text: "a member answers from its own copy, however old that is"},
			},
			Operations: database.WithLocks(database.OperationsOf((*client)(nil), (*lean)(nil), (*below)(nil))),
			Ports:      map[string]int{"client": 8500, "server": 8300, "serf_lan": 8301},
			Tools:      []string{Name},
			// A client knows only the address of the agent on its machine.
			Failover:   workload.FailoverNone,
			TLS:        true,
			Auth:       true,
			MaxValue:   maxValue,
			Fsync:      fsyncEach,
			Durability: declared.EveryWrite,
			Sessions:   sessionFacts(),
			Locks:      lockFacts(),
			Watches:    watchFacts(),
		},
		New: func() database.Driver { return New() },
	}
}
