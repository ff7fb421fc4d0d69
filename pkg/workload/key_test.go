package workload

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestKeyNumberIsTheInverse: a key has a number if and only if AppendKey makes that key
// from it.
func TestKeyNumberIsTheInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		number := rapid.Int64Range(0, math.MaxInt64).Draw(t, "number")
		key := AppendKey(nil, number, size)
		if want := fmt.Sprintf("%0*d", size, number); string(key) != want {
			t.Fatalf("key of %d with size %d: want %q, got %q", number, size, want, key)
		}
		if got, ok := KeyNumber(key, size); !ok || got != number {
			t.Fatalf("number of %q with size %d: want %d, got %d, %v", key, size, number, got, ok)
		}
		other := rapid.SliceOfN(rapid.SampledFrom([]byte("0019a")), 0, 22).Draw(t, "other")
		if n, ok := KeyNumber(other, size); ok && !bytes.Equal(AppendKey(nil, n, size), other) {
			t.Fatalf("%q with size %d has number %d, whose key is %q", other, size, n, AppendKey(nil, n, size))
		}
	})
}

func TestKeyNumber(t *testing.T) {
	for _, tc := range []struct {
		key  string
		size int
		want int64
		ok   bool
	}{
		{"0007", 4, 7, true},
		{"0000", 4, 0, true},
		{"12345", 4, 12345, true},
		{"9223372036854775807", 4, math.MaxInt64, true},
		{"9223372036854775808", 4, 0, false},
		{"007", 4, 0, false},
		{"00007", 4, 0, false},
		{"00a7", 4, 0, false},
		{"-007", 4, 0, false},
		{"aaaa", 4, 0, false},
		{"", 1, 0, false},
	} {
		if got, ok := KeyNumber([]byte(tc.key), tc.size); got != tc.want || ok != tc.ok {
			if ok || tc.ok {
				t.Errorf("number of %q with size %d: want %d, %v, got %d, %v", tc.key, tc.size, tc.want, tc.ok, got, ok)
			}
		}
	}
}
