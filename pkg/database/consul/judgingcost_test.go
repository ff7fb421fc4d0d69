package consul

import (
	"fmt"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// BenchmarkJudgingCost measures the cost of judging for clients of one Consul. `make
// consistency-cost` runs it.
func BenchmarkJudgingCost(b *testing.B) {
	member := startOne(b, "")
	conns := make([]database.Client, databasetest.JudgedClients) // one carries one request at a time
	for n := range conns {
		conn, err := member.Driver().Dial(b.Context(), member.Target())
		if err != nil {
			b.Fatalf("dial: %v", err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		conns[n] = conn
	}
	for _, keys := range []int64{1, 2000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			for b.Loop() {
				databasetest.JudgingCost(b, databasetest.JudgedLoad{Name: "Consul", Keys: keys, Requests: 40_000}, conns)
			}
		})
	}
}
