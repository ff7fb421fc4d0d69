package zookeeper

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
)

// BenchmarkClient measures what operations cost this process: 256-byte key and 1
// KiB value, 100 clients. The server is another process and does not sync; trust
// cpu-us/op, not ns/op.
func BenchmarkClient(b *testing.B) {
	s := suite(b, newest)
	s.Options = "java_xms: 1G\njava_xmx: 2G\nforce_sync: false\n"
	s.Addrs = []string{"127.0.7.12"}
	c := databasetest.Start(b, s, 1)
	target := c.To(0)
	target.MaxBytes = 256 + 1024
	clients := make([]*client, 100)
	for i := range clients {
		clients[i] = dial(b, c.Driver(), target)
	}
	var keys atomic.Int64
	value := make([]byte, 1024)
	b.Run("create", func(b *testing.B) {
		benchmark(b, clients, func(ctx context.Context, c *client, key []byte) error {
			copy(key, fmt.Sprintf("%020d", keys.Add(1)))
			return c.Put(ctx, key, value)
		})
	})
	b.Run("set", func(b *testing.B) {
		benchmark(b, clients, func(ctx context.Context, c *client, key []byte) error { return c.Put(ctx, key, value) })
	})
	for _, mode := range Database().Info.Reads {
		b.Run(string(mode), func(b *testing.B) {
			benchmark(b, clients, func(ctx context.Context, c *client, key []byte) error {
				_, err := c.Get(ctx, key, mode)
				return err
			})
		})
	}
}

func benchmark(b *testing.B, clients []*client, operate func(context.Context, *client, []byte) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := processCPU(b)
	for _, c := range clients {
		wg.Go(func() {
			key := make([]byte, 256)
			for left.Add(-1) >= 0 {
				ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
				err := operate(ctx, c, key)
				cancel()
				if outcome, class := database.Classify(err); outcome != database.OK {
					b.Errorf("%v %s: %v", outcome, class, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((processCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
}

// processCPU returns the user and system time of this process.
func processCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
