package zetcd

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
	"github.com/coreos/dbtester/pkg/workload"
)

// Database returns zetcd as a registry lists it. The etcd below it is the one
// built into this binary unless the tool "etcd" replaces it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			About:      "ZooKeeper's API on etcd, by a proxy whose last release is v0.0.5 of May 2018; unmaintained",
			Reads:      []workload.ReadMode{workload.ReadSyncGet, workload.ReadStale},
			Promises:   zookeeper.Promises(),
			Operations: zookeeper.Operations(),
			Ports:      map[string]int{"client": 2181, roleEtcdClient: 2379, roleEtcdPeer: 2380},
			Tools:      []string{Name, etcd.Name},
			// Its clients are ZooKeeper clients.
			Failover:   workload.FailoverNext,
			MaxValue:   New().protocol().MaxValue(limitKeySize),
			Fsync:      etcd.Database().Info.Fsync,
			Durability: etcd.Database().Info.Durability,
			Watches:    watchFacts(),
			NoSessions: "the proxy renews its lease by itself while a connection is open, whatever its client sends, so that no TTL begins with a renewal of the client's",
			Locks:      lockFacts(),
		},
		New: func() database.Driver { return New() },
	}
}
