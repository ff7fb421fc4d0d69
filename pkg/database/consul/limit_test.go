package consul

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// A raised limit applies to the server and to every client: the largest value passes and reads
// back, and one byte more does not.
func TestRaisedLimit(t *testing.T) {
	t.Parallel()
	c := startOne(t, "kv_max_value_size: 2000000")
	largest := c.Driver().(database.Limiter).MaxValue(1)
	if largest != 2_000_000 {
		t.Errorf("the limit is %d", largest)
	}
	for _, transport := range []database.Transport{database.Lean, database.Standard} {
		t.Run(string(transport), func(t *testing.T) {
			driver := New()
			driver.Transport = transport
			target := c.Target()
			target.MaxBytes = 1 + largest
			conn, err := driver.Dial(t.Context(), target)
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			defer conn.Close()
			mustClass(t, conn.Put(t.Context(), []byte("k"), make([]byte, largest)), "", workload.OK)
			if value, err := conn.Get(t.Context(), []byte("k"), workload.ReadLinearizable); err != nil || len(value) != largest {
				t.Errorf("read %d bytes: %v", len(value), err)
			}
			mustClass(t, conn.Put(t.Context(), []byte("k"), make([]byte, largest+1)), database.ClassTooLarge, workload.Failed)
		})
	}
}

func TestMaxValue(t *testing.T) {
	for size, want := range map[int]int{0: maxValue, 1000: 1000, 4_000_000: 4_000_000} {
		if got := (&Options{KVMaxValueSize: size}).MaxValue(256); got != want {
			t.Errorf("kv_max_value_size %d: %d, want %d", size, got, want)
		}
	}
}
