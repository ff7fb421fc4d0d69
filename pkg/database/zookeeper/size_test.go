package zookeeper

import (
	"math"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// TestHeap compares with the heap that a member of 3.9.5 had after a full collection.
func TestHeap(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for _, tt := range []struct{ keys, key, value, measured int64 }{
		{300_000, 16, 16, (113_088 - 10_459) * kib},
		{150_000, 256, 1024, (280_406 - 10_436) * kib},
		{300_000, 256, 1024, (568_346 - 10_436) * kib},
		{20_000, 256, 16384, (354_495 - 10_547) * kib},
	} {
		got := heapNeed(database.Data{Keys: tt.keys, KeySize: tt.key, ValueSize: tt.value}) - heapOther
		if off := math.Abs(float64(got)/float64(tt.measured) - 1); off > 0.06 {
			t.Errorf("%d keys of %d + %d bytes: %d, which is %.1f %% off what was measured (%d)", tt.keys, tt.key, tt.value, got, 100*off, tt.measured)
		}
	}
}

// TestSnapshots: they grow with the square of the keys, and an empty java_xmx is no limit.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	o := New()
	disk := func(keys, writes int64) int64 {
		return o.Needs(database.Data{Keys: keys, Writes: writes, KeySize: 256, ValueSize: 1024})[2].Bytes
	}
	if small, large := disk(1_000_000, 1_000_000), disk(10_000_000, 10_000_000); large < 50*small {
		t.Errorf("ten times the keys need %d bytes of disk instead of %d, want far more than ten times as much", large, small)
	}
	if few, many := disk(1000, 1000), disk(1000, 1_000_000); many > few*10_000 {
		t.Errorf("a million updates of 1,000 keys need %d bytes of disk instead of %d, want small snapshots", many, few)
	}
	if o.JavaXmx = ""; o.Needs(database.Data{Keys: 1})[0].Limit != 0 {
		t.Error("java_xmx is empty, and the heap has a limit")
	}
}
