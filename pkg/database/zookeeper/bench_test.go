package zookeeper

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
)

// BenchmarkClients measures the cost of a thousand clients, each with its own session, for this
// process: CPU time per operation and per opened session, and memory per client. Lean clients run
// as goroutines and as fibers; loads run them as fibers. Keys have 256 bytes, values 1 KiB. The
// server is another process and does not sync; trust cpu-us/op, not ns/op, and KiB/client only for
// one transport and operation per run.
func BenchmarkClients(b *testing.B) {
	s := suite(b, newest)
	s.Options = "java_xms: 1G\njava_xmx: 2G\nforce_sync: false\n"
	s.Addrs = []string{"127.108.7.12"}
	c := databasetest.Start(b, s, 1)
	var keys atomic.Int64
	value := make([]byte, 1024)
	operations := []struct {
		name string
		do   func(context.Context, database.Client, []byte) error
	}{
		{"create", func(ctx context.Context, c database.Client, key []byte) error {
			return c.Put(ctx, appendKey(key, keys.Add(1)), value)
		}},
		{"set", func(ctx context.Context, c database.Client, key []byte) error {
			return c.Put(ctx, appendKey(key, 0), value)
		}},
	}
	for _, mode := range Database().Info.Reads {
		operations = append(operations, struct {
			name string
			do   func(context.Context, database.Client, []byte) error
		}{string(mode), func(ctx context.Context, c database.Client, key []byte) error {
			_, err := c.Get(ctx, appendKey(key, 0), mode)
			return err
		}})
	}
	for _, transport := range []database.Transport{database.Lean, database.Standard} {
		driver := New()
		driver.Transport = transport
		for _, operation := range operations {
			b.Run(string(transport)+"/"+operation.name, func(b *testing.B) {
				benchmarkClients(b, driver, c.To(0), operation.do, func(ctx context.Context, group *sync.WaitGroup, run func(context.Context)) {
					group.Go(func() { run(ctx) })
				})
			})
			if transport == database.Lean {
				b.Run("fibers/"+operation.name, func(b *testing.B) { benchmarkClients(b, driver, c.To(0), operation.do, fibertest.Go) })
			}
		}
	}
}

func benchmarkClients(b *testing.B, driver *Options, target database.Target, operate func(context.Context, database.Client, []byte) error,
	start func(context.Context, *sync.WaitGroup, func(context.Context))) {
	const clients = 1000
	target.MaxBytes = 256 + 1024
	idle, before := databasetest.AnonKiB(b), databasetest.ProcessCPU(b)
	dialed := make([]database.Client, clients)
	for i := range dialed {
		dialed[i] = dial(b, driver, target)
	}
	dialing := databasetest.ProcessCPU(b) - before
	if err := dialed[0].Put(b.Context(), appendKey(nil, 0), make([]byte, 1024)); err != nil {
		b.Fatalf("put: %v", err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before = databasetest.ProcessCPU(b)
	// As the load does: one context until a deadline passes.
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	for _, c := range dialed {
		start(ctx, &wg, func(ctx context.Context) {
			key := make([]byte, 0, 256)
			for left.Add(-1) >= 0 {
				if err := operate(ctx, c, key); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((databasetest.ProcessCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
	b.ReportMetric(float64(dialing.Microseconds())/clients, "cpu-us/dial")
	b.ReportMetric((databasetest.AnonKiB(b)-idle)/clients, "KiB/client")
}

func appendKey(key []byte, n int64) []byte { return fmt.Appendf(key, "%0256d", n) }
