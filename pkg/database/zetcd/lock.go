package zetcd

import (
	"context"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
)

var _ database.LockDialer = (*Options)(nil)

// lockFacts returns the facts about ZooKeeper locks with sessions that are etcd leases. The proxy
// renews a lease as the etcd client does, while its session has an open connection.
func lockFacts() *database.LockFacts {
	behind := etcd.Database().Info.Locks
	session := behind.Session
	session.What = "session of ZooKeeper's, which is a lease of etcd"
	session.Rule = "its connection ends, and then " + session.Rule
	f := zookeeper.LockFacts(session)
	f.Renews = behind.Renews
	for i := range f.Recipes {
		f.Recipes[i].Fence = "the revision of etcd that created the contender's znode (czxid)"
	}
	return f
}

// DialLocks makes contenders with ZooKeeper clients; see [zookeeper.Protocol.DialLocks].
func (o *Options) DialLocks(_ context.Context, t database.Target, lo database.LockOptions) (database.Locks, error) {
	locks, err := o.protocol().DialLocks(t, lo, lockFacts())
	if err != nil {
		return nil, fmt.Errorf("zetcd: %w", err)
	}
	return locks, nil
}
