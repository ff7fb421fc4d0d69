// Package histogram holds latencies in HdrHistograms: their shape, the ranks and
// percentiles taken from them, and the log that stores them.
package histogram

import (
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// MaxLatency is the largest latency recorded in a histogram. A longer one is recorded as
// MaxLatency and counted as clamped.
const MaxLatency = time.Hour

// Digits are significant in a histogram: any recorded value is known to 0.1 %.
const Digits = 3

// New returns an empty histogram for nanoseconds from 1 ns to [MaxLatency] with three significant
// digits. All histograms in a result folder, except those of members, have this shape, so that they
// merge without loss. It is not safe for concurrent use.
func New() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(MaxLatency), Digits)
}

// Record adds one latency to h, clamped to [0, MaxLatency], and reports whether
// it was over the maximum.
func Record(h *hdrhistogram.Histogram, latency time.Duration) (clamped bool) {
	v := int64(latency)
	if v > int64(MaxLatency) {
		v, clamped = int64(MaxLatency), true
	}
	// In range by construction; the only other error is 2^63 values.
	_ = h.RecordValue(max(v, 0))
	return clamped
}

// bucketIndex returns a value's place among the counts of a [New] histogram: 2,048 values have a
// bucket each, then 1,024 buckets cover every doubling.
func bucketIndex(value int64) int { return indexIn(value, 11) }

// indexIn returns the bucketIndex where 2^exact values have a bucket each.
func indexIn(value int64, exact int) int {
	doublings := max(bits.Len64(uint64(value))-exact, 0)
	return doublings<<(exact-1) + int(value>>doublings)
}

// bucketValue returns the least value in a bucket.
func bucketValue(index int) int64 { return valueIn(index, 11) }

// valueIn inverts indexIn: it returns the least value in a bucket.
func valueIn(index, exact int) int64 {
	doublings := max(index>>(exact-1)-1, 0)
	return int64(index-doublings<<(exact-1)) << doublings
}

// BucketWidth returns how many values share a bucket with a value.
func BucketWidth(value int64) int64 { return 1 << max(bits.Len64(uint64(value))-11, 0) }

// BucketStart returns the least value in a value's bucket.
func BucketStart(value int64) int64 { return bucketValue(bucketIndex(value)) }

// Packed returns an empty histogram shaped like [New] that keeps only buckets with counts.
func Packed() *hdrhistogram.PackedHistogram {
	return hdrhistogram.NewPacked(1, int64(MaxLatency), Digits)
}
