package consul

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
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

		ServerCount: kvEntries,
		Held:        held,
	}
}

// kvEntries returns the number of log entries that changed, or could have changed, a key: the
// largest number a member has applied. The plain index also counts writes by members about
// themselves.
func kvEntries(t testing.TB, c *databasetest.Cluster) int64 {
	t.Helper()
	var most int64
	for member := range c.Target().Endpoints {
		err := c.Driver().(*Options).members(c.Target()).ask(member, func(conn *client) error {
			resp, err := conn.get(t.Context(), "/v1/agent/metrics?format=prometheus")
			if err != nil {
				return err
			}
			text, err := io.ReadAll(resp.Body)
			var sum int64
			for _, line := range regexp.MustCompile(`(?m)^consul_fsm_(?:kvs_count\{.*\}|txn_count) ([0-9]+)$`).FindAllSubmatch(text, -1) {
				n, _ := strconv.ParseInt(string(line[1]), 10, 64)
				sum += n
			}
			most = max(most, sum)
			return errors.Join(err, resp.Body.Close())
		})
		if err != nil {
			t.Fatalf("the metrics of member %d: %v", member, err)
		}
	}
	return most
}

// The whole suite runs over the default transport.
func TestConformance(t *testing.T) { databasetest.Run(t, suite(t)) }
