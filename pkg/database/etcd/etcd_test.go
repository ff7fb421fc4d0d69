package etcd

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database()))
}

// oldest is the first release that plans support.
const oldest = "3.4.13"

func suite() databasetest.Suite {
	return databasetest.Suite{
		Database:    Database(),
		Addrs:       []string{"127.0.2.1", "127.0.2.2", "127.0.2.3"},
		ExactLimit:  exactLimit,
		ServerCount: raftEntries,
		Held:        held,
	}
}

// raftEntries returns the number of entries in the cluster log. It sends no credentials, because
// every token is an entry.
func raftEntries(t testing.TB, c *databasetest.Cluster) int64 {
	t.Helper()
	target := c.Target()
	target.Auth = nil
	var newest uint64
	for member := range target.Endpoints {
		status, err := statusOf(t.Context(), target, member)
		if err != nil {
			t.Fatalf("the raft index of member %d: %v", member, err)
		}
		newest = max(newest, status.RaftIndex)
	}
	return int64(newest)
}

// exactLimit returns the largest value that member 0 accepts. An id takes up to 10
// bytes, depending on its high bits, which are the low bits of the member id. An authenticated
// request also contains the user name, and the number of changes to users.
func exactLimit(t testing.TB, c *databasetest.Cluster, keySize int) int {
	t.Helper()
	status, err := statusOf(t.Context(), c.Target(), 0)
	if err != nil {
		t.Fatalf("ask for the status: %v", err)
	}
	header := protowire.SizeVarint(status.Header.MemberId << 48)
	if auth := c.Target().Auth; auth != nil {
		const username, revision = 2, 3
		header += protowire.SizeTag(username) + protowire.SizeBytes(len(auth.User)) +
			protowire.SizeTag(revision) + protowire.SizeVarint(authRevision(t, c))
	}
	return maxValueWithID(defaultRequestBytes, keySize, header)
}

// The whole suite runs over the default transport.
func TestConformance(t *testing.T) { databasetest.Run(t, suite()) }

func TestConformanceLibrary(t *testing.T) {
	s := suite()
	s.Addrs, s.Options = []string{"127.0.2.15", "127.0.2.16", "127.0.2.17"}, "transport: clientv3"
	s.Part = databasetest.Clients
	databasetest.Run(t, s)
}

func TestConformanceOldest(t *testing.T) {
	s := suite()
	s.Tools = databasetest.Release(t, Database(), oldest)
	s.Version, s.Part, s.Lacks = oldest, databasetest.Servers, []workload.RangeMode{workload.RangeStream}
	databasetest.Run(t, s)
}
