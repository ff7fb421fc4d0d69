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

// The whole suite runs with every transport.
func TestConformance(t *testing.T) {
	byTransport(t, func(t *testing.T, transport Transport) {
		s := suite()
		s.Options = "transport: " + string(transport)
		databasetest.Run(t, s)
	})
}
