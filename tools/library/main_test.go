package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Every key is put once, and clients use the members in turn.
func TestConsul(t *testing.T) {
	t.Parallel()
	for _, rate := range []string{"0", "10000"} {
		var mu sync.Mutex
		puts := map[string]int{}
		var members [2]int
		serve := func(member int) string {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				value, err := io.ReadAll(r.Body)
				if err != nil || r.Method != http.MethodPut || len(value) != 1024 {
					t.Errorf("got a %s of %d bytes, %v; want a PUT of 1024", r.Method, len(value), err)
				}
				mu.Lock()
				puts[r.URL.Path]++
				members[member]++
				mu.Unlock()
				_, _ = io.WriteString(w, "true") // the client reports what it lacks
			}))
			t.Cleanup(s.Close)
			return s.Listener.Addr().String()
		}
		if err := run([]string{"consul", "-endpoints", serve(0) + "," + serve(1), "-requests", "100", "-clients", "4", "-rate", rate}); err != nil {
			t.Fatalf("at rate %s: %v", rate, err)
		}
		for i := 1; i <= 100; i++ {
			if path := fmt.Sprintf("/v1/kv/library/%0256d", i); puts[path] != 1 {
				t.Errorf("at rate %s key %d was put %d times, want once", rate, i, puts[path])
			}
		}
		if len(puts) != 100 {
			t.Errorf("at rate %s %d keys were put, want 100", rate, len(puts))
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if err := run([]string{"consul", "-endpoints", s.Listener.Addr().String(), "-requests", "10"}); err == nil {
		t.Error("puts that fail must be an error")
	}
	if err := run([]string{"etcd"}); err == nil {
		t.Error("another database must be an error")
	}
}
