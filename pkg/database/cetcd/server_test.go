package cetcd

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// Lists longer than a page are complete, and data written through the etcd interface is an error,
// not a value.
func TestLists(t *testing.T) {
	client, err := api.NewClient(&api.Config{Address: startProxy(t)})
	if err != nil {
		t.Fatalf("make the client library: %v", err)
	}
	const pairs = 2*pairsPage + 1
	var wg sync.WaitGroup
	for worker := range 10 {
		wg.Go(func() {
			for i := worker; i < pairs; i += 10 {
				key := fmt.Sprintf("dir/%04d", i)
				if _, err := client.KV().Put(&api.KVPair{Key: key, Value: []byte(key), Flags: uint64(i)}, nil); err != nil {
					t.Errorf("put a key: %v", err)
				}
			}
		})
	}
	wg.Wait()
	list, _, err := client.KV().List("dir/", nil)
	if err != nil || len(list) != pairs {
		t.Fatalf("%d pairs of %d: %v", len(list), pairs, err)
	}
	for i, pair := range list {
		if want := fmt.Sprintf("dir/%04d", i); pair.Key != want || string(pair.Value) != want || pair.Flags != uint64(i) {
			t.Errorf("pair %d is %+v", i, pair)
		}
	}
	keys, _, err := client.KV().Keys("", "", nil)
	if err != nil || len(keys) != pairs || keys[pairs-1] != list[pairs-1].Key {
		t.Errorf("%d keys of %d: %v", len(keys), pairs, err)
	}
}

// A key by another author is neither returned nor silently omitted from a list.
func TestForeignKey(t *testing.T) {
	s := suite()
	s.Addrs = []string{"127.0.6.8"}
	c := databasetest.Start(t, s, 1)
	client, err := api.NewClient(&api.Config{Address: c.Target().Endpoints[0]})
	if err != nil {
		t.Fatalf("make the client library: %v", err)
	}
	put := func(key string) {
		if _, err := client.KV().Put(&api.KVPair{Key: key}, nil); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	put("a")
	// The etcd listener, by the plan.
	store, err := newStore(c.Plan(0).Listen[0], nil)
	if err != nil {
		t.Fatalf("connect to etcd: %v", err)
	}
	defer store.close()
	if err := store.put(t.Context(), []byte("b"), nil); err != nil {
		t.Fatalf("put: %v", err)
	}
	if pair, _, err := client.KV().Get("b", nil); err == nil {
		t.Errorf("read %+v", pair)
	}
	if pairs, _, err := client.KV().List("", nil); err == nil {
		t.Errorf("listed %d pairs", len(pairs))
	}
}

// A proxy stops at once although queries are blocked. A busy machine may need several attempts.
func TestStopWhileBlocked(t *testing.T) {
	for attempt := 1; ; attempt++ {
		took := stopWhileBlocked(t)
		if took <= stopWithin {
			return
		}
		if attempt == 5 {
			t.Fatalf("stopping took %v in attempt %d, want less than running requests may take, %v", took, attempt, stopWithin)
		}
	}
}

// stopWhileBlocked returns the time a proxy with blocked queries takes to stop.
func stopWhileBlocked(t *testing.T) time.Duration {
	t.Helper()
	s := suite()
	s.Addrs = []string{"127.0.6.9"}
	c := databasetest.Start(t, s, 1)
	client, err := api.NewClient(&api.Config{Address: c.Target().Endpoints[0]})
	if err != nil {
		t.Fatalf("make the client library: %v", err)
	}
	ended := make(chan error)
	for range 5 {
		go func() {
			_, _, err := client.KV().Get("k", (&api.QueryOptions{WaitIndex: 1000, WaitTime: time.Minute}).WithContext(context.WithoutCancel(t.Context())))
			ended <- err
		}()
	}
	time.Sleep(200 * time.Millisecond) // until they block
	start := time.Now()
	for _, exits := range c.Stop() {
		for _, exit := range exits {
			if exit.Code != 0 || exit.After != "interrupt" {
				t.Errorf("a command ends with %s", exit)
			}
		}
	}
	took := time.Since(start)
	for range 5 {
		<-ended
	}
	return took
}
