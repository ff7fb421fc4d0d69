package etcd

import (
	"go.etcd.io/etcd/api/v3/version"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/database/etcd/library"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// Database returns etcd as a registry lists it. Without the tool "etcd" a plan
// runs the server built into this binary.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			Reads: []workload.ReadMode{workload.ReadLinearizable, workload.ReadStale},
			Promises: map[workload.ReadMode]database.Promise{
				workload.ReadLinearizable: {Linearizable: true, Text: "the leader confirms with a quorum that it leads"},
				workload.ReadStale:        {Text: "a member answers from its own copy, however old that is"},
			},
			Operations: database.WithLocks(database.OperationsOf((*client)(nil), (*lean)(nil), (*library.Client)(nil), (*below)(nil))),
			Lists:      answer.Lists(),
			Ports:      map[string]int{"client": 2379, "peer": 2380},
			Tools:      []string{Name},
			Embedded:   version.Version,
			SharedConn: true,
			// clientv3 knows all endpoints; its balancer uses the connected ones.
			Failover:   workload.FailoverNext,
			TLS:        true,
			Auth:       true,
			MaxValue:   maxValue(defaultRequestBytes, limitKeySize),
			Fsync:      fsyncEach,
			Durability: declared.EveryWrite,
			Sessions:   sessionFacts(),
			Locks:      lockFacts(),
			Watches:    watchFacts(streamOfLean),
		},
		New: func() database.Driver { return New() },
	}
}
