package cetcd

import (
	"go.etcd.io/etcd/api/v3/version"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/workload"
)

// Database returns cetcd as a registry lists it. A plan runs the etcd and the proxy in
// this binary, unless the tools "etcd" and "cetcd" replace them. A plan for a cetcd executable has
// fewer operations.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			About: "Consul's key-value API on etcd, by a proxy that is part of dbtester; its version is the etcd's. Upstream's cetcd never had a release, and its code is unchanged since 2016",
			// etcd has no reads under a leader lease: the Consul modes default and consistent are
			// both linearizable here.
			Reads: []workload.ReadMode{workload.ReadLinearizable, workload.ReadStale},
			Promises: map[workload.ReadMode]database.Promise{
				workload.ReadLinearizable: {Linearizable: true, Text: "etcd confirms with a quorum"},
				workload.ReadStale:        {Text: "an etcd member answers from its own copy, however old that is"},
			},
			Operations: database.OperationsOf(keysOnly{}),
			Ports:      map[string]int{"client": 8500, roleEtcdClient: 2379, roleEtcdPeer: 2380},
			Tools:      []string{Name, etcd.Name},
			// Its clients are Consul clients.
			Failover:   workload.FailoverNone,
			Embedded:   version.Version,
			TLS:        true,
			MaxValue:   maxValue,
			Watches:    consul.Database().Info.Watches,
			NoSessions: "the proxy refuses Consul's sessions",
			NoLocks:    "the proxy refuses Consul's sessions, with which Consul's locks are held",
			Fsync:      etcd.Database().Info.Fsync,
			Durability: etcd.Database().Info.Durability,
		},
		New: func() database.Driver { return New() },
	}
}
