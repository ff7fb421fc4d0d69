package consistency

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// recorded has the batches of a store and their moments, so that a benchmark measures the judge
// alone.
type recorded struct {
	batches [][]Op
	before  []int64
}

// inBatch is the number of requests that the engine passes to its observer at once when many end.
const inBatch = 8192

// record makes request batches.
func record(s *store, batches int) recorded {
	s.judge(Options{})
	var r recorded
	for range batches {
		j := New(Options{MostKeys: 1})
		s.run(j, inBatch)
		r.batches = append(r.batches, append([]Op(nil), s.batch...))
		r.before = append(r.before, j.before)
	}
	return r
}

func (r *recorded) judge(j *Judge) (requests int) {
	for n := range r.batches {
		j.Second(r.batches[n], r.before[n])
		requests += len(r.batches[n])
	}
	return requests
}

// BenchmarkSecond is the judge's time for a request.
func BenchmarkSecond(b *testing.B) {
	for _, c := range []struct {
		keys, clients int
		weaker        bool
	}{
		{1, 2, false}, {1, 1000, false}, {100, 1000, false}, {20_000, 2, false}, {20_000, 1000, false}, {100_000, 1000, false},
		{1, 1000, true}, {100, 1000, true}, {20_000, 1000, true}, {100_000, 1000, true},
	} {
		name := fmt.Sprintf("keys=%d/clients=%d", c.keys, c.clients)
		if c.weaker {
			name += "/weaker"
		}
		b.Run(name, func(b *testing.B) {
			s := &store{clients: c.clients, keys: c.keys, writes: 0.5}
			r := record(s, 125)
			b.ReportAllocs()
			b.ResetTimer()
			requests, took := 0, int64(0)
			for b.Loop() {
				b.StopTimer()
				j := New(Options{Initial: func(key int64) int64 { return -1 - key }, Weaker: c.weaker, Keys: int64(c.keys)})
				b.StartTimer()
				before := processorTime()
				requests += r.judge(j)
				took += processorTime() - before
			}
			b.ReportMetric(float64(took)/float64(requests), "cpu-ns/request")
		})
	}
}

// BenchmarkMemory is the judge's memory after a number of requests.
func BenchmarkMemory(b *testing.B) {
	for _, keys := range []int{1, 1000, 100_000} {
		for _, batches := range []int{12, 122} {
			b.Run(fmt.Sprintf("keys=%d/requests=%d", keys, batches*inBatch), func(b *testing.B) {
				s := &store{clients: 1000, keys: keys, writes: 0.5}
				r := record(s, batches)
				for b.Loop() {
					before := heapInUse()
					j := New(Options{Initial: func(key int64) int64 { return -1 - key }, Keys: int64(keys)})
					r.judge(j)
					b.ReportMetric(float64(heapInUse()-before)/(1<<20), "MiB")
					runtime.KeepAlive(j)
				}
			})
		}
	}
}

// processorTime returns this process's CPU time so far, in nanoseconds; other processes do not
// change it.
func processorTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
