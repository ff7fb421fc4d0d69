package merge

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// encode returns a second of a generator as a message: 50,000 writes, each with both timings.
// Latencies differ a little between generators, so that not all their buckets are the same.
func encode(b *testing.B, generator int) *dbtesterpb.LoadSecond {
	b.Helper()
	s := made(0, 1, 0)
	r := &s.Intervals[0]
	for _, timing := range results.Timings {
		h := histogram.New()
		for i := range 50_000 {
			took := time.Duration(200_000 + 7_919*generator + i*37)
			r.Latency(timing, workload.OK).Add(took)
			histogram.Record(h, took)
		}
		s.Latencies = append(s.Latencies, load.Latency{Series: results.Series{Timing: timing, Operation: "write", Phase: results.PhaseMeasure}, Histogram: h})
	}
	m, err := new(loadwire.Encoder).Second(s)
	if err != nil {
		b.Fatalf("encode a second: %v", err)
	}
	return m
}

// BenchmarkSecond measures what a second from one generator costs a merger of four: its message is
// marshalled, decoded and merged, with its share of the common cost. Connections and the sink are
// left out. 1 % of a core is 10 ms.
func BenchmarkSecond(b *testing.B) {
	const generators = 4
	m := writes(discard{}, 0, "a", "b", "c", "d")
	var messages [generators]*dbtesterpb.LoadSecond
	var decoders [generators]loadwire.Decoder
	for g := range messages {
		messages[g] = encode(b, g)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		g := n % generators
		messages[g].Second = int64(1 + n/generators)
		wire, err := proto.Marshal(messages[g])
		if err != nil {
			b.Fatalf("marshal a second: %v", err)
		}
		var got dbtesterpb.LoadSecond
		if err := proto.Unmarshal(wire, &got); err != nil {
			b.Fatalf("unmarshal a second: %v", err)
		}
		s, err := decoders[g].Second(&got)
		if err != nil {
			b.Fatalf("decode a second: %v", err)
		}
		if err := m.Part(g).Second(s); err != nil {
			b.Fatalf("second %d: %v", n/generators, err)
		}
	}
	perSecond := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(1e9*perSecond, "ns/generator/s")
	b.ReportMetric(100*perSecond, "%core/generator")
}

// BenchmarkGenerators measures one second from many generators, whose seconds come at once and are
// decoded, merged and written: what a load costs control each second, and the processors in use.
// 100 % of a processor is 1 s.
func BenchmarkGenerators(b *testing.B) {
	for _, generators := range []int{8, 100, 1000} {
		b.Run(strconv.Itoa(generators), func(b *testing.B) { benchmarkGenerators(b, generators) })
	}
}

func benchmarkGenerators(b *testing.B, generators int) {
	out, err := load.NewFiles(b.TempDir(), time.Unix(1, 0))
	if err != nil {
		b.Fatalf("open the records: %v", err)
	}
	defer out.Close()
	m := writes(out, 0, make([]string, generators)...)
	messages := make([]*dbtesterpb.LoadSecond, min(generators, 16))
	for g := range messages {
		messages[g] = encode(b, g)
	}
	workers := runtime.GOMAXPROCS(0)
	decoders := make([]loadwire.Decoder, workers)
	send := func(worker int, second int64) error {
		for g := worker; g < generators; g += workers {
			s, err := decoders[worker].Second(messages[g%len(messages)])
			if err != nil {
				return err
			}
			for i := range s.Intervals {
				s.Intervals[i].Second = second
			}
			if err := m.Part(g).Second(s); err != nil {
				return err
			}
		}
		return nil
	}
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		var group errgroup.Group
		for worker := range workers {
			group.Go(func() error { return send(worker, n) })
		}
		if err := group.Wait(); err != nil {
			b.Fatalf("second %d: %v", n, err)
		}
	}
	b.ReportMetric(1e9*b.Elapsed().Seconds()/float64(b.N*generators), "ns/generator")
}

type discard struct{}

func (discard) Second(load.Second) error { return nil }

func (discard) Total(load.Total) error { return nil }
