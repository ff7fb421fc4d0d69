package databasetest

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Mirror checks a driver's mirror with clients over every transport on a loopback address: each
// put, and each get for an existing key, is held exactly once, and reads return the written values.
func Mirror(t *testing.T, address string, db database.Database, drivers map[string]database.Driver) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
			if err != nil {
				t.Fatalf("listen for the mirror: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var held atomic.Int64
			ended := make(chan error, 1)
			go func() {
				ended <- db.New().(database.Mirror).ServeMirror(ctx, l, func() { held.Add(1) })
			}()
			target := database.Target{Endpoints: []string{l.Addr().String()}, Prefer: 0, MaxBytes: 1 << 10}
			client, err := driver.Dial(t.Context(), target)
			if err != nil {
				t.Fatalf("dial the mirror: %v", err)
			}
			mirrorCalls(t, client, db.Info.Reads, &held)
			if err := client.Close(); err != nil {
				t.Errorf("close the client: %v", err)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("a mirror whose context ended must return nil, got %v", err)
			}
		})
	}
}

// mirrorCalls makes puts and gets and checks the number of held requests.
func mirrorCalls(t *testing.T, client database.Client, reads []workload.ReadMode, held *atomic.Int64) {
	t.Helper()
	ctx := t.Context()
	put := func(value string) {
		t.Helper()
		if err := client.Put(ctx, []byte("key-1"), []byte(value)); err != nil {
			t.Fatalf("put to the mirror: %v", err)
		}
	}
	get := func(want string) {
		t.Helper()
		for _, mode := range reads {
			value, err := client.Get(ctx, []byte("key-1"), mode)
			if err != nil || string(value) != want {
				t.Fatalf("get (%s) from the mirror: %q, %v; want %q, as written", mode, value, err, want)
			}
		}
	}
	if n := held.Load(); n != 0 {
		t.Errorf("a dial must not be held, but %d requests were", n)
	}
	if _, err := client.Get(ctx, []byte("absent"), reads[0]); !errors.Is(err, database.ErrNotFound) || held.Load() != 0 {
		t.Errorf("get of a missing key: %v, held %d; want %v at once", err, held.Load(), database.ErrNotFound)
	}
	values := []string{"one", "two", ""}
	for _, value := range values {
		put(value)
		get(value)
	}
	if h, ok := client.(database.HintedPutter); ok {
		err := errors.Join(h.PutNew(ctx, []byte("key-2"), []byte("a")), h.PutExisting(ctx, []byte("key-2"), []byte("b")))
		if err != nil {
			t.Errorf("put with hints to the mirror: %v", err)
		}
		values = slices.Concat(values, []string{"a", "b"})
	}
	if want := int64(len(values) + 3*len(reads)); held.Load() != want {
		t.Errorf("%d requests were held, want %d: each put and each get once", held.Load(), want)
	}
}
