package histogram

import (
	"math"
	"testing"
	"time"
)

func TestRecordClamps(t *testing.T) {
	h := New()
	for d, want := range map[time.Duration]bool{-1: false, 0: false, MaxLatency: false, MaxLatency + 1: true, math.MaxInt64: true} {
		if got := Record(h, d); got != want {
			t.Errorf("Record(%v) clamped: %v", d, got)
		}
	}
	if h.TotalCount() != 5 {
		t.Errorf("%d of 5 values were recorded", h.TotalCount())
	}
	if max := Quantile(h, 1); float64(max) < float64(MaxLatency) || float64(max) > float64(MaxLatency)*1.001 {
		t.Errorf("the maximum became %v", time.Duration(max))
	}
}

// TestBuckets: places, least values and widths fit those in the library.
func TestBuckets(t *testing.T) {
	h := New()
	for _, bar := range h.Distribution() {
		i := bucketIndex(bar.From)
		if bucketIndex(bar.To) != i || bucketValue(i) != bar.From || BucketWidth(bar.From) != bar.To-bar.From+1 {
			t.Fatalf("bucket %d begins at %d and holds %d, want [%d, %d]", i, bucketValue(i), BucketWidth(bar.From), bar.From, bar.To)
		}
	}
}

func TestBucketStart(t *testing.T) {
	for _, v := range []int64{0, 1, 2047, 2048, 4097, 1e6 + 1, int64(MaxLatency)} {
		h := New()
		if err := h.RecordValue(v); err != nil {
			t.Fatalf("record %d: %v", v, err)
		}
		if got := BucketStart(v); got != h.Min() {
			t.Errorf("the bucket of %d begins at %d by the library, got %d", v, h.Min(), got)
		}
	}
}
