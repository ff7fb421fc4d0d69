package zetcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
	"github.com/coreos/dbtester/pkg/database/etcd"
)

// The etcd below runs from the test binary.
func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database(), etcd.Database()))
}

func suite(t testing.TB) databasetest.Suite {
	return databasetest.Suite{
		Database: Database(),
		Addrs:    []string{"127.0.8.1", "127.0.8.2", "127.0.8.3"},
		Tools:    databasetest.Release(t, Database(), version),
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite(t)) }
