package table

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// TestBuckets: every value is in one bucket, edges grow, and the tail has its own bucket if there
// are enough values to know where it begins.
func TestBuckets(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		draw func() time.Duration
		want int
	}{
		{"none", 0, nil, 0},
		{"one", 1, func() time.Duration { return time.Millisecond }, 1},
		{"equal", 50_000, func() time.Duration { return 123_457 * time.Nanosecond }, 1},
		{"few", 9_999, func() time.Duration { return time.Duration(rand.Int64N(1e9)) }, mostBuckets},
		{"many", 20_000, func() time.Duration { return time.Duration(rand.ExpFloat64() * 1e6) }, mostBuckets},
		{"nanoseconds", 20_000, func() time.Duration { return time.Duration(rand.Int64N(3)) }, mostBuckets},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, l := histogram.New(), results.Latency{}
			for range tt.n {
				d := tt.draw()
				l.Add(d)
				histogram.Record(h, d)
			}
			of := &run.Latency{OK: run.DistributionOf(l, h), Histogram: h}
			list := buckets(of)
			if len(list) != tt.want {
				t.Errorf("%d buckets, want %d", len(list), tt.want)
			}
			var sum int64
			for i, b := range list {
				sum += b.count
				if i > 0 && b.to <= list[i-1].to {
					t.Errorf("bucket %d ends at %v, the one before at %v", i, b.to, list[i-1].to)
				}
			}
			if sum != int64(tt.n) {
				t.Errorf("%d values in buckets, want %d", sum, tt.n)
			}
			if lines := drawBuckets(list); len(lines) != max(tt.want, 1) {
				t.Errorf("%d lines", len(lines))
			}
			if tt.name == "many" {
				if tail := list[mostBuckets-1].count; tail > 20 || tail < 10 {
					t.Errorf("%d of 20,000 are above p99.9", tail)
				}
			}
		})
	}
}
