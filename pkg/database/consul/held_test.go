package consul

import (
	"fmt"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// held returns the value, flags and indexes of every key.
func held(t testing.TB, c *databasetest.Cluster) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := c.Driver().(*Options).members(c.Target()).ask(0, func(conn *client) error {
		conn.http.Transport.(*kvTransport).maxBody = 1 << 30
		pairs, _, err := conn.kv.List("", (&api.QueryOptions{RequireConsistent: true}).WithContext(t.Context()))
		for _, p := range pairs {
			all[p.Key] = fmt.Sprintf("created at %d, changed at %d, flags %d, %q", p.CreateIndex, p.ModifyIndex, p.Flags, p.Value)
		}
		return err
	})
	if err != nil {
		t.Fatalf("read all keys: %v", err)
	}
	return all
}
