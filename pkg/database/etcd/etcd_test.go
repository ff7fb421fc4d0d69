package etcd_test

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
	"github.com/coreos/dbtester/pkg/database/etcd"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(etcd.Database()))
}

func suite() databasetest.Suite {
	return databasetest.Suite{
		Database: etcd.Database(),
		Addrs:    []string{"127.0.2.1", "127.0.2.2", "127.0.2.3"},
		// An id is written in 10 bytes or fewer, by its high bits.
		LimitSlack: 9,
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite()) }
