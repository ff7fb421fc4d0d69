package merge

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/histogram"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// sent is a second of a generator as it comes from the wire: its histograms are encoded.
type sent struct {
	second  load.Second
	encoded [][]byte
}

// encode returns a second of 50,000 writes, each with both timings. The latencies of
// generators differ by a little, so that their histograms have other buckets.
func encode(b *testing.B, generator int) *sent {
	b.Helper()
	s := &sent{second: made(0, 1, 0)}
	r := &s.second.Intervals[0]
	for _, timing := range results.Timings {
		h := histogram.New()
		for i := range 50_000 {
			took := time.Duration(200_000 + 7_919*generator + i*37)
			r.Latency(timing, results.OK).Add(took)
			histogram.Record(h, took)
		}
		text, err := h.EncodeV2()
		if err != nil {
			b.Fatalf("encode a histogram: %v", err)
		}
		s.encoded = append(s.encoded, text)
		s.second.Latencies = append(s.second.Latencies, load.Latency{Series: results.Series{Timing: timing, Operation: "write", Phase: results.PhaseMeasure}})
	}
	return s
}

// BenchmarkSecond measures what a second of one generator costs whoever merges those of
// four: its two histograms are decoded and merged, and its share of what all seconds of a
// moment cost together. The sink is left out. 1 % of a core is 10 ms.
func BenchmarkSecond(b *testing.B) {
	const generators = 4
	m := writes(discard{}, 0, "a", "b", "c", "d")
	var all [generators]*sent
	for g := range all {
		all[g] = encode(b, g)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		s := all[n%generators]
		s.second.Intervals[0].Second = int64(1 + n/generators)
		for i, text := range s.encoded {
			h, err := hdrhistogram.Decode(text)
			if err != nil {
				b.Fatalf("decode a histogram: %v", err)
			}
			s.second.Latencies[i].Histogram = h
		}
		if err := m.Part(n % generators).Second(s.second); err != nil {
			b.Fatalf("second %d: %v", n/generators, err)
		}
	}
	perSecond := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(1e9*perSecond, "ns/generator/s")
	b.ReportMetric(100*perSecond, "%core/generator")
}

type discard struct{}

func (discard) Second(load.Second) error { return nil }

func (discard) Total(load.Total) error { return nil }
