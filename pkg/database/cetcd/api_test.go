package cetcd

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// The checks below pass with the Consul client library on Consul and on the proxy.
func TestAPI(t *testing.T) {
	for name, start := range map[string]func(testing.TB) string{"cetcd": startProxy, "consul": startConsul} {
		t.Run(name, func(t *testing.T) {
			client, err := api.NewClient(&api.Config{Address: start(t)})
			if err != nil {
				t.Fatalf("make the client library: %v", err)
			}
			for _, check := range checks() {
				t.Run(check.name, func(t *testing.T) {
					t.Parallel()
					check.run(t, &area{t: t, kv: client.KV(), prefix: check.name + "/"})
				})
			}
		})
	}
}

type check struct {
	name string
	run  func(*testing.T, *area)
}

func checks() []check {
	return []check{
		{"a write wakes", func(t *testing.T, s *area) { s.wakes("k", func() { s.put("k", "2") }, "2") }},
		{"a delete wakes", func(t *testing.T, s *area) { s.wakes("k", func() { s.delete("k") }, "") }},
		{"a swap wakes", func(t *testing.T, s *area) {
			s.wakes("k", func() {
				pair := s.get("k", nil)
				pair.Value = []byte("3")
				if ok, _, err := s.kv.CAS(pair, nil); !ok || err != nil {
					t.Error(ok, err)
				}
			}, "3")
		}},
		{"a new key wakes", func(t *testing.T, s *area) {
			pair, meta, err := s.kv.Get(s.prefix+"new", nil)
			s.must(err)
			s.after(100*time.Millisecond, func() { s.put("new", "1") })
			// While there is no such key, Consul may answer when another key was written: with
			// a new index, from which a client queries again.
			for index := uint64(0); pair == nil && meta.LastIndex > index; {
				index = meta.LastIndex
				pair, meta, err = s.kv.Get(s.prefix+"new", wait(index, databasetest.Patience))
				s.must(err)
			}
			if pair == nil || string(pair.Value) != "1" {
				t.Errorf("got %+v, index %d", pair, meta.LastIndex)
			}
		}},
		{"another key does not wake", notWoken},
		{"an index of the past returns at once", func(t *testing.T, s *area) {
			s.put("k", "1")
			index := s.get("k", nil).ModifyIndex
			s.put("k", "2")
			s.put("other", "1")
			start := time.Now()
			if pair := s.get("k", wait(index, 2*databasetest.Patience)); string(pair.Value) != "2" || time.Since(start) > databasetest.Patience {
				t.Errorf("got %+v after %v", pair, time.Since(start))
			}
		}},
		{"a prefix wakes", prefixWakes},
		{"stale reads block too", func(t *testing.T, s *area) {
			s.put("k", "1")
			options := wait(s.get("k", nil).ModifyIndex, databasetest.Patience)
			options.AllowStale = true
			s.after(100*time.Millisecond, func() { s.put("k", "2") })
			if pair := s.get("k", options); string(pair.Value) != "2" {
				t.Errorf("got %+v", pair)
			}
		}},
		{"one of many swaps wins", oneSwapWins},
		{"a counter by swaps", counter},
		{"a tree is deleted", func(t *testing.T, s *area) {
			for i := range 10 {
				s.put(fmt.Sprintf("tree/%d", i), "x")
			}
			s.put("treehouse", "x")
			_, err := s.kv.DeleteTree(s.prefix+"tree/", nil)
			s.must(err)
			keys, _, err := s.kv.Keys(s.prefix, "", nil)
			if s.must(err); len(keys) != 1 || keys[0] != s.prefix+"treehouse" {
				t.Errorf("left are %q", keys)
			}
		}},
		{"a delete by index", func(t *testing.T, s *area) {
			s.put("k", "1")
			old := s.get("k", nil)
			s.put("k", "2")
			if ok, _, err := s.kv.DeleteCAS(old, nil); ok || err != nil {
				t.Error(ok, err)
			}
			if ok, _, err := s.kv.DeleteCAS(s.get("k", nil), nil); !ok || err != nil {
				t.Error(ok, err)
			}
		}},
		{"meta", func(t *testing.T, s *area) {
			s.put("k", "1")
			for _, o := range []*api.QueryOptions{{}, {AllowStale: true}, {RequireConsistent: true}} {
				pair, meta, err := s.kv.Get(s.prefix+"k", o)
				if s.must(err); meta.LastIndex != pair.ModifyIndex || !meta.KnownLeader || meta.LastContact > time.Second {
					t.Errorf("pair %+v, meta %+v", pair, meta)
				}
			}
		}},
	}
}

func notWoken(t *testing.T, s *area) {
	s.put("k", "1")
	index := s.get("k", nil).ModifyIndex
	s.put("k2", "1")
	s.after(50*time.Millisecond, func() { s.put("k3", "1") })
	const waits = 300 * time.Millisecond
	start := time.Now()
	if pair := s.get("k", wait(index, waits)); pair == nil || pair.ModifyIndex != index {
		t.Errorf("got %+v, index %d", pair, index)
	}
	if took := time.Since(start); took < waits {
		t.Errorf("came back after %v", took)
	}
}

func prefixWakes(t *testing.T, s *area) {
	s.put("p/1", "1")
	s.put("p/2", "1")
	_, meta, err := s.kv.List(s.prefix+"p/", nil)
	s.must(err)
	for i, change := range []func(){
		func() { s.put("p/3", "1") },
		func() { s.put("p/1", "2") },
		func() { s.delete("p/2") },
	} {
		s.after(100*time.Millisecond, change)
		pairs, next, err := s.kv.List(s.prefix+"p/", wait(meta.LastIndex, databasetest.Patience))
		if s.must(err); next.LastIndex <= meta.LastIndex {
			t.Errorf("change %d: %d pairs, index %d after %d", i, len(pairs), next.LastIndex, meta.LastIndex)
		}
		meta = next
	}
	keys, _, err := s.kv.Keys(s.prefix+"p/", "", wait(meta.LastIndex, 100*time.Millisecond))
	if s.must(err); len(keys) != 2 {
		t.Errorf("keys %q", keys)
	}
}

func oneSwapWins(t *testing.T, s *area) {
	s.put("k", "0")
	index := s.get("k", nil).ModifyIndex
	var mu sync.Mutex
	var winners []string
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			value := fmt.Sprint("by ", i)
			ok, _, err := s.kv.CAS(&api.KVPair{Key: s.prefix + "k", Value: []byte(value), ModifyIndex: index}, nil)
			if err != nil {
				t.Errorf("compare and swap: %v", err)
			}
			if ok {
				mu.Lock()
				winners = append(winners, value)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(winners) != 1 || string(s.get("k", nil).Value) != winners[0] {
		t.Errorf("won: %q, the key holds %q", winners, s.get("k", nil).Value)
	}
}

func counter(t *testing.T, s *area) {
	s.put("n", "")
	const each = 10
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for done := 0; done < each; {
				pair, _, err := s.kv.Get(s.prefix+"n", &api.QueryOptions{RequireConsistent: true})
				if err != nil {
					t.Errorf("get a key: %v", err)
					return
				}
				pair.Value = append(pair.Value, '+')
				ok, _, err := s.kv.CAS(pair, nil)
				if err != nil {
					t.Errorf("compare and swap: %v", err)
					return
				}
				if ok {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got := len(s.get("n", nil).Value); got != 4*each {
		t.Errorf("%d swaps left %d marks", 4*each, got)
	}
}

// area is the part of a store for one check. Its methods fail the test on errors.
type area struct {
	t      *testing.T
	kv     *api.KV
	prefix string
}

func (s *area) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("expected no error, got %v", err)
	}
}

func (s *area) put(key, value string) {
	s.t.Helper()
	if _, err := s.kv.Put(&api.KVPair{Key: s.prefix + key, Value: []byte(value)}, nil); err != nil {
		s.t.Errorf("put a key: %v", err)
	}
}

func (s *area) delete(key string) {
	s.t.Helper()
	if _, err := s.kv.Delete(s.prefix+key, nil); err != nil {
		s.t.Errorf("delete a key: %v", err)
	}
}

func (s *area) get(key string, o *api.QueryOptions) *api.KVPair {
	s.t.Helper()
	pair, _, err := s.kv.Get(s.prefix+key, o)
	s.must(err)
	return pair
}

// after calls f later, before the test ends.
func (s *area) after(d time.Duration, f func()) {
	done := make(chan struct{})
	time.AfterFunc(d, func() {
		defer close(done)
		f()
	})
	s.t.Cleanup(func() { <-done })
}

// wakes fails the test unless a query blocked on key returns after change, with want; empty
// means no key.
func (s *area) wakes(key string, change func(), want string) {
	s.t.Helper()
	s.put(key, "1")
	before := s.get(key, nil)
	const pause = 100 * time.Millisecond
	start := time.Now()
	s.after(pause, change)
	pair, meta, err := s.kv.Get(s.prefix+key, wait(before.ModifyIndex, databasetest.Patience))
	s.must(err)
	if took := time.Since(start); took < pause {
		s.t.Errorf("came back after %v", took)
	}
	got := ""
	if pair != nil {
		got = string(pair.Value)
	}
	if got != want || meta.LastIndex <= before.ModifyIndex {
		s.t.Errorf("got %q, index %d, want %q and an index above %d", got, meta.LastIndex, want, before.ModifyIndex)
	}
}

func wait(index uint64, d time.Duration) *api.QueryOptions {
	return &api.QueryOptions{WaitIndex: index, WaitTime: d}
}
