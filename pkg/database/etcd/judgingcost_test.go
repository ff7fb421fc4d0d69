package etcd

import (
	"fmt"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// BenchmarkJudgingCost measures the cost of judging for clients of one etcd. `make
// consistency-cost` runs it.
func BenchmarkJudgingCost(b *testing.B) {
	member := databasetest.Start(b, databasetest.Suite{
		Database: Database(), Options: "{unsafe_no_fsync: true, log_level: error}", Addrs: []string{"127.0.2.62"},
	}, 1)
	conns := make([]database.Client, 10)
	for n := range conns {
		conns[n] = dialBy(b, database.Lean, member.Target())
	}
	for _, keys := range []int64{1, 20_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			for b.Loop() {
				databasetest.JudgingCost(b, databasetest.JudgedLoad{Name: "etcd", Keys: keys, Requests: 200_000}, conns)
			}
		})
	}
}
