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
	"github.com/coreos/dbtester/pkg/database/databasetest"
)

// BenchmarkPut measures what a put costs this process, 256-byte key and 1 KiB
// value, 100 callers on 10 connections, beside etcd's client library. The server
// is another process; trust cpu-us/op, not ns/op.
func BenchmarkPut(b *testing.B) {
	c := startOne(b, "{unsafe_no_fsync: true, log_level: error}")
	for _, transport := range []database.Transport{database.Standard, database.Lean} {
		b.Run(string(transport), func(b *testing.B) {
			benchmarkPut(b, func() func(context.Context, []byte, []byte) error {
				return dialBy(b, transport, c.To(0)).Put
			})
		})
	}
	b.Run("library", func(b *testing.B) {
		benchmarkPut(b, func() func(context.Context, []byte, []byte) error {
			library, err := clientv3.New(clientv3.Config{
				Endpoints: c.Target().Endpoints, MaxUnaryRetries: 1, Logger: zap.NewNop(),
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

func benchmarkPut(b *testing.B, dial func() func(context.Context, []byte, []byte) error) {
	const connections, callers = 10, 100
	var puts [connections]func(context.Context, []byte, []byte) error
	for i := range puts {
		puts[i] = dial()
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
				err := puts[i%connections](ctx, key, value)
				cancel()
				if outcome, class := database.Classify(err); outcome != database.OK {
					b.Errorf("put: %v %s: %v", outcome, class, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((databasetest.ProcessCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
}
