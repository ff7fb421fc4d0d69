package cetcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
	"github.com/coreos/dbtester/pkg/database/etcd"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database(), etcd.Database()))
}

func suite() databasetest.Suite {
	return databasetest.Suite{
		Database: Database(),
		Addrs:    []string{"127.0.6.1", "127.0.6.2", "127.0.6.3"},
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite()) }

func TestConformanceStandard(t *testing.T) {
	s := suite()
	s.Options = "transport: standard"
	databasetest.Run(t, s)
}

// The whole suite runs with TLS too.
func TestSecure(t *testing.T) {
	s := suite()
	// Members see each other come from 127.0.0.1, and look whether the certificate
	// holds it.
	s.TLS = databasetest.Certificates(t, append(s.Addrs, "127.0.0.1")...)
	databasetest.Run(t, s)
}
