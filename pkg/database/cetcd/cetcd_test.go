package cetcd

import (
	"errors"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/databasetest"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database(), etcd.Database()))
}

func suite() databasetest.Suite {
	return databasetest.Suite{
		Database: Database(),
		Addrs:    []string{"127.0.6.1", "127.0.6.2", "127.0.6.3"},

		ServerCount: raftEntries,
	}
}

// raftEntries returns the number of log entries in the etcd below the proxies.
func raftEntries(t testing.TB, c *databasetest.Cluster) int64 {
	t.Helper()
	config, err := c.Target().TLS.Config()
	if err != nil {
		t.Fatalf("read the cluster's certificates: %v", err)
	}
	var newest uint64
	for member := range c.Target().Endpoints {
		s, err := newStore(c.Addr(member, roleEtcdClient), config)
		if err != nil {
			t.Fatalf("connect to the etcd of member %d: %v", member, err)
		}
		status, err := s.status.Status(t.Context(), &pb.StatusRequest{})
		if err = errors.Join(err, s.close()); err != nil {
			t.Fatalf("the raft index of member %d: %v", member, err)
		}
		newest = max(newest, status.RaftIndex)
	}
	return int64(newest)
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite()) }

// With TLS, and with the other transport. Each transport with and without TLS is tested in
// package consul, whose clients these are.
func TestSecure(t *testing.T) {
	s := suite()
	s.Options = "transport: standard"
	// Members see each other connect from 127.0.0.1, and check whether the certificate
	// contains that address.
	s.TLS = databasetest.Certificates(t, append(s.Addrs, "127.0.0.1")...)
	s.Part = databasetest.Clients
	databasetest.Run(t, s)
}
