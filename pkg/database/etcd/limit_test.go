package etcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// A flag that changes the request size also changes the value size, for the server and for every
// client.
func TestLimitOfFlags(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, flag := range []string{"4000000", "4096"} {
		t.Run(flag, func(t *testing.T) {
			c := startOne(t, "{unsafe_no_fsync: true, flags: [--max-request-bytes="+flag+"]}")
			key := []byte("k")
			largest := c.Driver().(database.Limiter).MaxValue(len(key))
			byTransport(t, func(t *testing.T, transport database.Transport) {
				target := c.Target()
				target.MaxBytes = len(key) + largest
				client := dialBy(t, transport, target)
				if err := client.Put(t.Context(), key, make([]byte, largest)); err != nil {
					t.Errorf("%d bytes: %v", largest, err)
				}
				if value, err := client.Get(t.Context(), key, workload.ReadLinearizable); err != nil || len(value) != largest {
					t.Errorf("read %d bytes: %v", len(value), err)
				}
				// The id in an entry header may be shorter than assumed.
				err := client.Put(t.Context(), key, make([]byte, largest+1+maxVarint-1))
				if outcome, class := database.Classify(err); outcome != workload.Failed || class != database.ClassTooLarge {
					t.Errorf("more than %d bytes: %v", largest, err)
				}
			})
		})
	}
}

func TestRequestBytes(t *testing.T) {
	for _, tt := range []struct {
		flags []string
		want  int
	}{
		{nil, defaultRequestBytes},
		{[]string{"--max-txn-ops=9"}, defaultRequestBytes},
		{[]string{"--max-request-bytes=10", "-max-request-bytes=20"}, 20},
		{[]string{"--max-request-bytes", "--max-request-bytes=many"}, defaultRequestBytes},
	} {
		if got := (&Server{Flags: tt.flags}).requestBytes(); got != tt.want {
			t.Errorf("%q: %d bytes, want %d", tt.flags, got, tt.want)
		}
	}
}

func TestMaxValue(t *testing.T) {
	// 1.5 MiB, less 3+11 for the header with a 10-byte id, 1+3 for the put, 1+2 for the key
	// length, 1+3 for the value length, and the key.
	if got, want := maxValue(defaultRequestBytes, 256), 1572864-14-4-3-4-256; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := maxValue(10, 256); got != 0 {
		t.Errorf("a request without room for a value holds %d", got)
	}
	for _, key := range []int{1, 127, 128, 256, 4096} {
		size := maxValue(defaultRequestBytes, key)
		if entrySize(key, size, maxVarint) > defaultRequestBytes || entrySize(key, size+1, maxVarint) <= defaultRequestBytes {
			t.Errorf("key of %d bytes: %d is not the largest", key, size)
		}
	}
}
