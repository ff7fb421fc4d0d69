package consul

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// watchedStore answers blocking queries for all keys as the test requires.
type watchedStore struct {
	mu      sync.Mutex
	queries []string // the indexes waited for, or ""
	open    map[net.Conn]bool
	// answer returns the index and the key versions, in key order; it answers nothing until the
	// query is given up.
	answer func(wait string, query int) (index int, pairs string)
}

func (s *watchedStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wait := r.URL.Query().Get("index")
	s.mu.Lock()
	index, pairs := s.answer(wait, len(s.queries))
	s.queries = append(s.queries, wait)
	s.mu.Unlock()
	if pairs == "" {
		<-r.Context().Done()
		return
	}
	w.Header().Set("X-Consul-Index", fmt.Sprint(index))
	_, _ = w.Write([]byte(pairs))
}

// connected records the open connections.
func (s *watchedStore) connected(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateClosed {
		delete(s.open, conn)
	} else {
		s.open[conn] = true
	}
}

// watch begins to watch all keys in the store.
func (s *watchedStore) watch(t *testing.T, to database.Receiver) *watches {
	t.Helper()
	s.open = map[net.Conn]bool{}
	server := httptest.NewUnstartedServer(s)
	server.Config.ConnState = s.connected
	server.Start()
	t.Cleanup(server.Close)
	target := database.Target{Endpoints: []string{strings.TrimPrefix(server.URL, "http://")}}
	dialed, err := New().DialWatches(t.Context(), target, database.WatchBlocking, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dialed.Close() })
	if _, err := dialed.Add(t.Context(), 0, database.WatchRange{}); err != nil {
		t.Fatal(err)
	}
	return dialed.(*watches)
}

// pairsOf are keys and their versions.
func pairsOf(versions ...int) string {
	var all []string
	for i, v := range versions {
		all = append(all, fmt.Sprintf(`{"Key": "key-%d", "ModifyIndex": %d, "Value": "eA=="}`, i, v))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// told forwards events with changes.
type told chan []database.WatchEvent

func (c told) Receive(_ time.Time, events []database.WatchEvent) {
	if !events[0].Woken {
		c <- slices.Clone(events)
	}
}

func (c told) Broken(error) {}

// Consul lists keys in key order, and events are in version order.
func TestWatchOrder(t *testing.T) {
	events := make(told, 1)
	s := &watchedStore{answer: func(wait string, _ int) (int, string) {
		switch wait {
		case "":
			return 5, pairsOf(5, 4, 3, 2)
		case "5":
			return 9, pairsOf(9, 7, 3, 8)
		}
		return 0, ""
	}}
	s.watch(t, events)
	var got []string
	for _, e := range <-events {
		got = append(got, fmt.Sprintf("%s %d", e.Key, e.Version))
	}
	if want := []string{"key-1 7", "key-3 8", "key-0 9"}; !slices.Equal(got, want) {
		t.Errorf("one answer has the events %q, want %q", got, want)
	}
}

// After a falling index queries wait again, instead of repeating without a wait.
func TestWatchIndexFalls(t *testing.T) {
	waits := make(chan struct{})
	s := &watchedStore{answer: func(wait string, query int) (int, string) {
		switch {
		case query == 0:
			return 9, pairsOf(9)
		case wait != "6":
			if query > 10 {
				t.Errorf("query %d waits for index %q, want 6", query, wait)
				return 0, ""
			}
			return 6, pairsOf(5)
		}
		close(waits)
		return 0, ""
	}}
	s.watch(t, make(told, 1))
	select {
	case <-waits:
	case <-time.After(databasetest.Patience):
		t.Errorf("nobody waits for the index 6")
	}
}

// Close leaves no connections: a member limits a client's connections.
func TestWatchClose(t *testing.T) {
	s := &watchedStore{answer: func(wait string, _ int) (int, string) {
		if wait == "5" {
			return 0, ""
		}
		return 5, pairsOf(5)
	}}
	w := s.watch(t, make(told, 1))
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	if err := w.Barrier(ctx); err != nil { // over its own connection
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		s.mu.Lock()
		n := len(s.open)
		s.mu.Unlock()
		if n == 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%d connections are open after Close", n)
		}
		time.Sleep(time.Millisecond)
	}
}
