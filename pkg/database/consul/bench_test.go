package consul

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/wire/fiber/fibertest"
	"github.com/coreos/dbtester/pkg/workload"
)

// BenchmarkClients measures the cost of a thousand clients, each on its own connection, for this
// process: CPU time per operation and memory per client. Lean clients run as goroutines and as
// fibers; loads run them as fibers. Keys have 256 bytes, values 1 KiB. The server is another
// process; trust cpu-us/op, not ns/op, and KiB/client only for one transport and operation per run.
func BenchmarkClients(b *testing.B) {
	c := startOne(b, "log_level: error")
	for _, transport := range []database.Transport{database.Lean, database.Standard} {
		driver := New()
		driver.Transport = transport
		for _, op := range []string{"put", "get"} {
			b.Run(string(transport)+"/"+op, func(b *testing.B) {
				benchmarkClients(b, driver, c.Target(), op, func(ctx context.Context, group *sync.WaitGroup, run func(context.Context)) {
					group.Go(func() { run(ctx) })
				})
			})
			if transport == database.Lean {
				b.Run("fibers/"+op, func(b *testing.B) { benchmarkClients(b, driver, c.Target(), op, fibertest.Go) })
			}
		}
	}
}

func benchmarkClients(b *testing.B, driver *Options, target database.Target, op string,
	start func(context.Context, *sync.WaitGroup, func(context.Context))) {
	const clients = 1000
	idle := databasetest.AnonKiB(b)
	dialed := make([]database.Client, clients)
	for i := range dialed {
		var err error
		if dialed[i], err = driver.Dial(b.Context(), target); err != nil {
			b.Fatalf("dial: %v", err)
		}
		defer dialed[i].Close()
	}
	if err := dialed[0].Put(b.Context(), benchKey(0), make([]byte, 1024)); err != nil {
		b.Fatalf("put: %v", err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := databasetest.ProcessCPU(b)
	// As the load does: one context until a deadline passes.
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	for _, client := range dialed {
		start(ctx, &wg, func(ctx context.Context) {
			value := make([]byte, 1024)
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				var err error
				if op == "put" {
					err = client.Put(ctx, benchKey(n), value)
				} else {
					_, err = client.Get(ctx, benchKey(0), workload.ReadLeader)
				}
				if err != nil {
					b.Errorf("get a key: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((databasetest.ProcessCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
	b.ReportMetric((databasetest.AnonKiB(b)-idle)/clients, "KiB/client")
}

func benchKey(n int64) []byte { return fmt.Appendf(nil, "%0256d", n) }

// ones counts the clusters of one member: each has its own address.
var ones atomic.Int32

// startOne starts a cluster of one member.
func startOne(t testing.TB, options string) *databasetest.Cluster {
	t.Helper()
	s := suite(t)
	s.Options, s.Addrs = options, []string{fmt.Sprintf("127.0.5.%d", 20+ones.Add(1))}
	return databasetest.Start(t, s, 1)
}
