package zookeeper

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// Tested versions: the newest, and the last one in the oldest line.
const (
	newest = "3.9.5"
	oldest = "3.4.14"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database()))
}

// small sets a heap for three members on a small machine, and a JVM that spends little on
// code that lives for seconds.
const small = "java_xms: 32M\njava_xmx: 256M\npre_alloc_size: 1024\nflags: [-XX:TieredStopAtLevel=1, -XX:+UseSerialGC]\n"

func suite(t testing.TB, version string) databasetest.Suite {
	return databasetest.Suite{
		Database: Database(),
		Options:  small,
		Addrs:    []string{"127.0.7.1", "127.0.7.2", "127.0.7.3"},
		Tools:    databasetest.Release(t, Database(), version),

		ServerCount: newestTransaction,
		Held:        held,

		PrefixOptions: "key_parents: 20\n",
	}
}

// newestTransaction returns the newest transaction on any member.
func newestTransaction(t testing.TB, c *databasetest.Cluster) int64 {
	t.Helper()
	var newest int64
	for member := range c.Target().Endpoints {
		newest = max(newest, lastTransaction(t, c, member))
	}
	return newest
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite(t, newest)) }

func TestConformanceStandard(t *testing.T) {
	s := suite(t, newest)
	s.Options += "transport: standard\n"
	s.Part = databasetest.Clients
	databasetest.Run(t, s)
}

// The oldest version line runs on the same files: it ignores newer settings.
func TestConformanceOldest(t *testing.T) {
	s := suite(t, oldest)
	s.Version, s.Part = oldest, databasetest.Servers
	c := databasetest.Run(t, s)
	found := map[string]bool{}
	for member := range s.Addrs {
		events(t, c, member, found)
	}
	if !found["leader elected"] || !found["following"] || !found["election"] {
		t.Errorf("the logs tell only %v", found)
	}
}
