package databasetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// writeReadCase: a new value and its replacements are read in every mode from every
// member.
func writeReadCase(t *testing.T, f *fixture) {
	for _, mode := range f.info().Reads {
		for member := range f.members {
			f.part(t, fmt.Sprintf("%s from member %d", mode, member), func(t *testing.T) {
				writer, reader := f.dial(t, f.Target()), f.dial(t, f.To(member))
				key := f.key()
				for _, value := range []string{"first", "second and longer", "3"} {
					put(t, writer, key, []byte(value))
					get(t, reader, key, mode, []byte(value))
				}
			})
		}
	}
}

// missingKeyCase: a key never written is not found, in every mode.
func missingKeyCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	for _, mode := range f.info().Reads {
		f.part(t, string(mode), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			value, err := client.Get(ctx, f.key(), mode)
			if !errors.Is(err, database.ErrNotFound) {
				t.Fatalf("got %q, %v; want %v", value, err, database.ErrNotFound)
			}
			mustClass(t, err, database.ClassNotFound, workload.Failed)
		})
	}
}

// bytesCase: a value may have any bytes, and so may a key if the database allows it.
func bytesCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	mode := f.info().Reads[0]
	f.part(t, "value", func(t *testing.T) {
		key := f.key()
		put(t, client, key, bytesOf(512))
		get(t, client, key, mode, bytesOf(512))
	})
	if f.suite.TextKeys {
		return
	}
	f.part(t, "key", func(t *testing.T) {
		keys := [][]byte{append(f.key(), bytesOf(256)...), append(f.key(), 0), append(f.key(), 0, 0), {0, 1, 0}, {255, 0}}
		for i, key := range keys {
			put(t, client, key, []byte{byte(i)})
		}
		for i, key := range keys {
			get(t, client, key, mode, []byte{byte(i)})
		}
	})
}

// sizesCase: values are read as they were written, whatever their size.
func sizesCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	for _, size := range []int{0, 1, 255, 1023, 1024, 4097, 65536} {
		f.part(t, fmt.Sprint(size), func(t *testing.T) {
			key := f.key()
			put(t, client, key, bytesOf(size))
			get(t, client, key, f.info().Reads[0], bytesOf(size))
		})
	}
}

// buffersCase: a client does not keep the caller's buffers after success, and values it appends to
// a buffer stay there.
func buffersCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	const n = 50
	buffer, value := make([]byte, 0, 64), make([]byte, 1000)
	var keys [][]byte
	for i := range n {
		keys = append(keys, f.key())
		buffer = append(buffer[:0], keys[i]...)
		copy(value, bytes.Repeat([]byte{byte(i)}, len(value)))
		put(t, client, buffer, value)
	}
	for i, key := range keys {
		get(t, client, key, f.info().Reads[0], bytes.Repeat([]byte{byte(i)}, len(value)))
	}
	if appends, ok := client.(database.AppendGetter); ok {
		appendGets(t, f, appends, keys, len(value))
	}
}

// appendGets reads keys into two buffers in turn, empty ones and ones with a beginning, which stays
// as it is, even after an error. All bytes in the value for key i are i.
func appendGets(t *testing.T, f *fixture, client database.AppendGetter, keys [][]byte, size int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	mode := f.info().Reads[0]
	for _, begins := range []string{"", "before"} {
		extended := func(i int) []byte { return append([]byte(begins), bytes.Repeat([]byte{byte(i)}, size)...) }
		buffers := [2][]byte{nil, []byte(begins)}
		for i, key := range keys {
			got, err := client.AppendGet(ctx, append(buffers[i%2][:0], begins...), key, mode)
			if err != nil || !bytes.Equal(got, extended(i)) {
				t.Fatalf("append the value of key %d to %q: %d bytes %q, want %d: %v", i, begins, len(got), clip(got), len(begins)+size, err)
			}
			if buffers[i%2] = got; i > 0 && !bytes.Equal(buffers[1-i%2], extended(i-1)) {
				t.Fatalf("the next read changed the buffer with the value of key %d: %q", i-1, clip(buffers[1-i%2]))
			}
		}
		got, err := client.AppendGet(ctx, append(buffers[0][:0], begins...), f.key(), mode)
		if !errors.Is(err, database.ErrNotFound) || string(got) != begins {
			t.Errorf("append a missing value to %q: %q, %v; want no more, and %v", begins, clip(got), err, database.ErrNotFound)
		}
	}
}

// limitKeySize is the key size in bytes for testing the limit: the default for experiments.
const limitKeySize = 256

// limitCase: the largest value is accepted, a larger one is refused with the right class,
// and the connection continues to work.
func limitCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.To(0))
	key := append(f.key(), bytes.Repeat([]byte("k"), limitKeySize)...)[:limitKeySize]
	promised := f.info().MaxValue
	if l, ok := f.driver.(database.Limiter); ok {
		promised = l.MaxValue(limitKeySize)
	}
	largest := promised
	if f.suite.ExactLimit != nil {
		largest = f.suite.ExactLimit(t, f.Cluster, limitKeySize)
	}
	f.part(t, "largest", func(t *testing.T) {
		if f.suite.Auth == nil && promised > largest {
			t.Errorf("the driver promises %d bytes, member 0 accepts only %d", promised, largest)
		}
		put(t, client, key, bytesOf(largest))
		get(t, client, key, f.info().Reads[0], bytesOf(largest))
	})
	for _, over := range []int{1, largest} {
		f.part(t, fmt.Sprintf("%d more", over), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			err := client.Put(ctx, key, bytesOf(largest+over))
			if err == nil {
				t.Fatalf("a value of %d bytes is accepted above the limit of %d", largest+over, largest)
			}
			mustClass(t, err, database.ClassTooLarge, workload.Failed)
			get(t, client, key, f.info().Reads[0], bytesOf(largest))
		})
	}
}

// deadlineCase: a request whose deadline passes has the class timeout, sent or not, and
// the client continues to work. [stallCase] proves that a deadline ends a running request.
func deadlineCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	f.part(t, "already over", func(t *testing.T) {
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		key := f.key()
		mustClass(t, client.Put(ctx, key, []byte("late")), database.ClassTimeout, workload.Failed)
		_, err := client.Get(ctx, key, f.info().Reads[0])
		mustClass(t, err, database.ClassTimeout, workload.Failed)
		absent(t, f, client, key)
	})
	f.part(t, "short", func(t *testing.T) {
		var w writes
		for i := range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Microsecond)
			if err := w.put(ctx, f, client); err != nil {
				mustClass(t, err, database.ClassTimeout, workload.Failed, workload.Unknown)
			}
			cancel()
		}
		w.check(t, f, client)
	})
	f.part(t, "after", func(t *testing.T) { serves(t, f, client) })
}

// cancelCase: a cancelled request has the class cancelled. [stallCase] proves that it
// ends at once.
func cancelCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	f.part(t, "before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		key := f.key()
		mustClass(t, client.Put(ctx, key, []byte("x")), database.ClassCancelled, workload.Failed)
		absent(t, f, client, key)
	})
	f.part(t, "in flight", func(t *testing.T) {
		var w writes
		for i := range 40 {
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(time.Duration(i)*25*time.Microsecond, cancel)
			if err := w.put(ctx, f, client); err != nil {
				mustClass(t, err, database.ClassCancelled, workload.Failed, workload.Unknown)
			}
			timer.Stop()
			cancel()
		}
		w.check(t, f, client)
	})
	f.part(t, "after", func(t *testing.T) { serves(t, f, client) })
}

// deleteCase: a deleted key is not found, and a second delete succeeds.
func deleteCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	key := f.key()
	put(t, client, key, []byte("x"))
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	for range 2 {
		if err := client.(database.Deleter).Delete(ctx, key); err != nil {
			t.Fatalf("delete: %v", err)
		}
		absent(t, f, client, key)
	}
}

// rangeCase: a range reads keys in order from its start, up to its limit.
func rangeCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	var keys [][]byte
	for range 10 {
		keys = append(keys, f.key())
		put(t, client, keys[len(keys)-1], bytesOf(100))
	}
	for _, mode := range f.info().Reads {
		f.part(t, string(mode), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			for {
				n, size, err := client.(database.Ranger).Range(ctx, keys[3], 5, mode)
				if err == nil && n == 5 && size == 500 {
					return
				}
				if mode != workload.ReadStale || ctx.Err() != nil {
					t.Fatalf("read %d keys of 7 with %d bytes, want 5 of 100: %v", n, size, err)
				}
			}
		})
	}
}

// listCase: a range of each mode reads up to its limit, or all keys from its start on, with values
// or without. Other keys may follow.
func listCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	var keys [][]byte
	for range 10 {
		keys = append(keys, f.key())
		put(t, client, keys[len(keys)-1], bytesOf(100))
	}
	const from, limit = 3, 2
	behind := len(keys) - from
	for _, how := range f.info().Lists {
		want := behind
		if how.Bounded() {
			want = limit
		}
		size := int64(0)
		if how.Values() {
			size = int64(want) * 100
		}
		for _, mode := range f.info().Reads {
			f.part(t, string(how)+" "+string(mode), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), opWithin)
				defer cancel()
				for {
					n, got, err := client.(database.Lister).List(ctx, how, keys[from], limit, mode)
					if slices.Contains(f.suite.Lacks, how) {
						if !errors.Is(err, database.ErrNoRangeMode) {
							t.Fatalf("a member that lacks the mode read %d keys: %v, want %v", n, err, database.ErrNoRangeMode)
						}
						return
					}
					if err == nil && (n == want && got == size || !how.Bounded() && n > want && got >= size) {
						return
					}
					if mode != workload.ReadStale || ctx.Err() != nil {
						t.Fatalf("read %d keys with %d bytes, want %d with %d: %v", n, got, want, size, err)
					}
				}
			})
		}
	}
}

// swapCase: a swap with the current value succeeds. With any other value it is a conflict and
// changes nothing.
func swapCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	swapper, mode := client.(database.Swapper), f.info().Reads[0]
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	key := f.key()
	put(t, client, key, []byte("old"))
	if err := swapper.Swap(ctx, key, []byte("old"), []byte("new")); err != nil {
		t.Fatalf("swap: %v", err)
	}
	get(t, client, key, mode, []byte("new"))
	mustClass(t, swapper.Swap(ctx, key, []byte("old"), []byte("newer")), database.ClassConflict, workload.Failed)
	get(t, client, key, mode, []byte("new"))
	mustClass(t, swapper.Swap(ctx, f.key(), []byte("old"), []byte("x")), database.ClassConflict, workload.Failed)
}

// sharedCase: 16 callers write and read through one client in parallel.
func sharedCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	const clients, each = 16, 10
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			for range each {
				key := f.key()
				if err := client.Put(ctx, key, key); err != nil {
					t.Errorf("put over a shared client: %v", err)
					return
				}
				if got, err := client.Get(ctx, key, f.info().Reads[0]); err != nil || !bytes.Equal(got, key) {
					t.Errorf("wrote %q, read %q: %v", key, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// countCase: the database counts at least as many keys as writes succeeded, and at most as many as
// succeeded or have an unknown outcome.
func countCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	before := count(t, f)
	var ok, unknown int64
	for i := range 60 {
		// Every third has so little time that its outcome may be unknown.
		timeout := opWithin
		if i%3 == 0 {
			timeout = time.Duration(i) * 40 * time.Microsecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		outcome, _ := database.Classify(client.Put(ctx, f.key(), bytesOf(64)))
		cancel()
		switch outcome {
		case workload.OK:
			ok++
		case workload.Unknown:
			unknown++
		}
	}
	serves(t, f, client) // one more key, after all others
	ok++
	if ok < 40 {
		t.Errorf("%d of 60 writes succeeded, want at least 40", ok)
	}
	if found := count(t, f) - before; found < ok || found > ok+unknown {
		t.Errorf("%d keys are new after %d successful and %d unknown writes", found, ok, unknown)
	}
	key := f.key()
	for range 3 { // overwriting adds no key
		put(t, client, key, []byte("x"))
	}
	again := count(t, f)
	put(t, client, key, []byte("y"))
	if now := count(t, f); now != again {
		t.Errorf("overwriting a key changed the count from %d to %d", again, now)
	}
}
