// Package all lists every database dbtester can run, one line each.
package all

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/cetcd"
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/zetcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
)

// Registry returns the databases in display order.
func Registry() *database.Registry {
	return database.NewRegistry(
		etcd.Database(),
		zookeeper.Database(),
		consul.Database(),
		zetcd.Database(),
		cetcd.Database(),
	)
}
