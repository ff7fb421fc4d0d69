package databasetest

import (
	"context"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// highestKeyCase: the highest number is found among keys with gaps. Keys that are not numbers of
// that size do not count.
func highestKeyCase(t *testing.T, f *fixture) {
	const size, other = 13, 31 // no other case has keys of digits
	client := f.dial(t, f.Target())
	write := func(keys ...string) {
		for _, key := range keys {
			put(t, client, []byte(key), []byte("x"))
		}
	}
	number := func(size int, numbers ...int64) {
		for _, n := range numbers {
			write(string(workload.AppendKey(nil, n, size)))
		}
	}
	mustFind := func(why string, size int, want int64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		defer cancel()
		got, err := f.driver.(database.KeyFinder).HighestKey(ctx, f.Target(), size)
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		if got != want {
			t.Errorf("%s: the highest key with size %d: want number %d, got %d", why, size, want, got)
		}
	}
	mustFind("no key of this size", size, -1)
	number(size, 0)
	mustFind("key 0", size, 0)
	number(size, 3, 4090, 17)
	mustFind("keys with gaps", size, 4090)
	write("999999999999", "9999999999999a", "0000000000005-1", "09999999999999", "zzzzzzzzzzzzz")
	number(other, 5_000_000, 6)
	mustFind("foreign keys", size, 4090)
	mustFind("keys of another size", other, 5_000_000)
	number(size, 20_000_000_000_000) // it has 14 digits
	mustFind("a number with more digits", size, 20_000_000_000_000)
	mustFind("the other size again", other, 5_000_000)
}
