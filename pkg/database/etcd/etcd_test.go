package etcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database()))
}

func suite() databasetest.Suite {
	return databasetest.Suite{
		Database: Database(),
		Addrs:    []string{"127.0.2.1", "127.0.2.2", "127.0.2.3"},
		// An id is written in 10 bytes or fewer, by its high bits.
		LimitSlack: 9,
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite()) }
