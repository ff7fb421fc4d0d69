package cetcd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

// BenchmarkProxy measures the cost of an operation for the proxy and the etcd behind it: 100
// clients, 256-byte keys, 1 KiB values, one member. Trust the CPU times, not ns/op; they include
// starting and stopping.
func BenchmarkProxy(b *testing.B) {
	for _, op := range []string{"put", "get"} {
		b.Run(op, func(b *testing.B) { benchmarkProxy(b, op) })
	}
}

func benchmarkProxy(b *testing.B, op string) {
	s := suite()
	s.Addrs, s.Options = []string{"127.0.6.10"}, "{unsafe_no_fsync: true, log_level: error}"
	c := databasetest.Start(b, s, 1)
	key := func(n int64) []byte { return fmt.Appendf(nil, "%0256d", n) }
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 100 {
		client, err := c.Driver().Dial(b.Context(), c.Target())
		if err != nil {
			b.Fatalf("dial: %v", err)
		}
		defer client.Close()
		if err := client.Put(b.Context(), key(0), make([]byte, 1024)); err != nil {
			b.Fatalf("put: %v", err)
		}
		wg.Go(func() {
			value := make([]byte, 1024)
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
				var err error
				if op == "put" {
					err = client.Put(ctx, key(n), value)
				} else {
					_, err = client.Get(ctx, key(0), workload.ReadLinearizable)
				}
				cancel()
				if err != nil {
					b.Errorf("get a key: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i, exit := range c.Stop()[0] {
		cpu := exit.UserCPU + exit.SystemCPU
		b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), c.Plan(0).Commands[i].Name+"-cpu-us/op")
	}
}
