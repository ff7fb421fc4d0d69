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

// BenchmarkPut measures the cost of a put for this process, for a 256-byte key, a 1 KiB value and
// 100 callers on 10 connections, by transport. The server is another process; trust cpu-us/op, not
// ns/op.
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
			library := bareLibrary(b, c.Target())
			return func(ctx context.Context, key, value []byte) error {
				_, err := library.Put(ctx, string(key), string(value))
				return err
			}
		})
	})
}

// BenchmarkGet measures a linearizable read of a 1 KiB value as [BenchmarkPut] does a put.
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
	b.Run("lean, into a buffer", func(b *testing.B) {
		benchmarkCalls(b, func() func(context.Context, []byte, []byte) error {
			client := dialBy(b, database.Lean, c.To(0)).(database.AppendGetter)
			return func(ctx context.Context, _, value []byte) error {
				_, err := client.AppendGet(ctx, value[:0], key, workload.ReadLinearizable)
				return err
			}
		})
	})
}

// BenchmarkKeepAlive measures a lease renewal as [BenchmarkPut] does a put: with load requests,
// with a session holder, and with KeepAliveOnce and KeepAlive in the library. The last renews by
// itself three times in a TTL, so its ns/op means nothing.
func BenchmarkKeepAlive(b *testing.B) {
	c := startOne(b, "{unsafe_no_fsync: true, log_level: error}")
	const held = 1000
	var ids [held]database.SessionID
	client := dialBy(b, database.Lean, c.To(0)).(database.Leaser)
	for i := range ids {
		var err error
		if ids[i], err = client.Grant(b.Context(), time.Hour); err != nil {
			b.Fatalf("grant: %v", err)
		}
	}
	var turn atomic.Int64
	next := func() database.SessionID { return ids[turn.Add(1)%held] }
	for _, transport := range []database.Transport{database.Lean, database.Standard, transportLibrary} {
		b.Run(string(transport), func(b *testing.B) {
			benchmarkCalls(b, func() func(context.Context, []byte, []byte) error {
				client := dialBy(b, transport, c.To(0)).(database.Leaser)
				return func(ctx context.Context, _, _ []byte) error { return client.KeepAlive(ctx, next()) }
			})
		})
	}
	b.Run("holder", func(b *testing.B) {
		benchmarkCalls(b, func() func(context.Context, []byte, []byte) error {
			sessions, err := New().DialSessions(b.Context(), c.To(0))
			if err != nil {
				b.Fatalf("dial sessions: %v", err)
			}
			b.Cleanup(func() { _ = sessions.Close() })
			return func(ctx context.Context, _, _ []byte) error {
				return (&lease{on: sessions.(*leases), id: next().Number()}).Keep(ctx)
			}
		})
	})
	b.Run("library once", func(b *testing.B) {
		benchmarkCalls(b, func() func(context.Context, []byte, []byte) error {
			library := bareLibrary(b, c.Target())
			return func(ctx context.Context, _, _ []byte) error {
				_, err := library.KeepAliveOnce(ctx, clientv3.LeaseID(next().Number()))
				return err
			}
		})
	})
	b.Run("library held", func(b *testing.B) { benchmarkHeld(b, bareLibrary(b, c.Target())) })
}

// benchmarkHeld counts the renewals the library makes by itself for 3000 leases of the shortest
// TTL.
func benchmarkHeld(b *testing.B, library *clientv3.Client) {
	const leases = 3000
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	answers := make(chan (<-chan *clientv3.LeaseKeepAliveResponse), leases)
	for range leases {
		granted, err := library.Grant(ctx, 2)
		if err != nil {
			b.Fatalf("grant: %v", err)
		}
		kept, err := library.KeepAlive(ctx, granted.ID)
		if err != nil {
			b.Fatalf("keep alive: %v", err)
		}
		answers <- kept
	}
	close(answers)
	renewed := make(chan struct{}, leases)
	var readers sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := databasetest.ProcessCPU(b)
	for kept := range answers {
		readers.Go(func() {
			for range kept {
				select {
				case renewed <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
	}
	for range b.N {
		<-renewed
	}
	b.ReportMetric(float64((databasetest.ProcessCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
	cancel()
	readers.Wait()
}

// bareLibrary returns the etcd client without ours around it.
func bareLibrary(b *testing.B, t database.Target) *clientv3.Client {
	b.Helper()
	library, err := clientv3.New(clientv3.Config{Endpoints: t.Endpoints, Logger: zap.NewNop()})
	if err != nil {
		b.Fatalf("make the client library: %v", err)
	}
	b.Cleanup(func() { _ = library.Close() })
	return library
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
