// Package all lists every database that dbtester can run, one line each.
package all

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
)

// Registry returns the databases in the order they are shown.
func Registry() *database.Registry {
	return database.NewRegistry(
		etcd.Database(),
	)
}
