package consul

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database()))
}

func suite(t testing.TB) databasetest.Suite {
	t.Helper()
	return databasetest.Suite{
		Database: Database(),
		Addrs:    []string{"127.0.5.1", "127.0.5.2", "127.0.5.3"},
		Tools:    databasetest.Release(t, Database(), "1.16.0"),
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite(t)) }

func TestConformanceStandard(t *testing.T) {
	s := suite(t)
	s.Options = "transport: standard"
	databasetest.Run(t, s)
}
