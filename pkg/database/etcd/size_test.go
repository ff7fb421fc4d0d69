package etcd

import (
	"math"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// TestStoreSize compares with sizes an etcd 3.6.16 member reported.
func TestStoreSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ writes, key, value, measured int64 }{
		{300_000, 16, 16, 26_959_872},
		{200_000, 64, 128, 55_148_544},
		{200_000, 256, 512, 206_974_976},
		{200_000, 256, 1024, 413_364_224},
		{20_000, 256, 16384, 369_614_848},
		{20_000, 64, 65536, 1_359_630_336},
	} {
		got := StoreSize(tt.writes, tt.key, tt.value)
		if off := math.Abs(float64(got)/float64(tt.measured) - 1); off > 0.02 {
			t.Errorf("%d writes of %d + %d bytes: %d, which is %.1f %% off what was measured (%d)", tt.writes, tt.key, tt.value, got, 100*off, tt.measured)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	var _ database.Sizer = New()
	needs := New().Needs(database.Data{Keys: 20_000_000, Writes: 20_000_000, KeySize: 256, ValueSize: 1024})
	if needs[0].Limit != 8_000_000_000 || needs[0].Bytes < 4*needs[0].Limit {
		t.Errorf("twenty million keys: %+v, want several times the quota", needs[0])
	}
}
