package etcd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

// BenchmarkPut measures what a put costs this process, 256-byte key and 1 KiB
// value, 100 callers on 10 connections, by transport. The server is another process;
// trust cpu-us/op, not ns/op.
func BenchmarkPut(b *testing.B) {
	c := startOne(b, "{unsafe_no_fsync: true, log_level: error}")
	for _, transport := range []database.Transport{database.Lean, database.Standard, transportLibrary} {
		b.Run(string(transport), func(b *testing.B) {
			benchmarkCalls(b, func() func(context.Context, []byte, []byte) error {
				return dialBy(b, transport, c.To(0)).Put
			})
		})
	}
	// The library without our client around it.
	b.Run("library", func(b *testing.B) {
		benchmarkCalls(b, func() func(context.Context, []byte, []byte) error {
			library, err := clientv3.New(clientv3.Config{
				Endpoints: c.Target().Endpoints, Logger: zap.NewNop(),
			})
			if err != nil {
				b.Fatalf("make the client library: %v", err)
			}
			b.Cleanup(func() { _ = library.Close() })
			return func(ctx context.Context, key, value []byte) error {
				_, err := library.Put(ctx, string(key), string(value))
				return err
			}
		})
	})
}

// BenchmarkGet measures a linearizable read of a value of 1 KiB as [BenchmarkPut] does a
// put.
func BenchmarkGet(b *testing.B) {
	c := startOne(b, "{unsafe_no_fsync: true, log_level: error}")
	key := make([]byte, 256)
	if err := dialBy(b, database.Lean, c.To(0)).Put(b.Context(), key, make([]byte, 1024)); err != nil {
		b.Fatalf("put: %v", err)
	}
	for _, transport := range []database.Transport{database.Lean, database.Standard, transportLibrary} {
		b.Run(string(transport), func(b *testing.B) {
			benchmarkCalls(b, func() func(context.Context, []byte, []byte) error {
				client := dialBy(b, transport, c.To(0))
				return func(ctx context.Context, _, _ []byte) error {
					_, err := client.Get(ctx, key, workload.ReadLinearizable)
					return err
				}
			})
		})
	}
}

func benchmarkCalls(b *testing.B, dial func() func(context.Context, []byte, []byte) error) {
	const connections, callers = 10, 100
	var calls [connections]func(context.Context, []byte, []byte) error
	for i := range calls {
		calls[i] = dial()
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := databasetest.ProcessCPU(b)
	for i := range callers {
		wg.Go(func() {
			key, value := make([]byte, 256), make([]byte, 1024)
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				copy(key, fmt.Sprintf("%020d", n))
				ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
				err := calls[i%connections](ctx, key, value)
				cancel()
				if outcome, class := database.Classify(err); outcome != workload.OK {
					b.Errorf("call: %v %s: %v", outcome, class, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((databasetest.ProcessCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
}
