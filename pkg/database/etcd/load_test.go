package etcd

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// A thousand callers on ten connections lose nothing while a member is killed and
// restarted: every call ends in time, successful writes are there, and failed ones are
// not.
func TestLoseMemberUnderLoad(t *testing.T) {
	slowtest.Skip(t)
	longByTransport(t, func(t *testing.T, transport database.Transport) {
		c := databasetest.Start(t, databasetest.Suite{
			Database: Database(), Options: "{unsafe_no_fsync: true, log_level: error}",
			Addrs: []string{"127.0.2.9", "127.0.2.10", "127.0.2.11"},
		}, 3)
		l := &load{conns: make([]database.Client, 10), waits: transport == transportLibrary, served: map[int]bool{}}
		for i := range l.conns {
			l.conns[i] = dialBy(t, transport, c.To(i%3))
		}
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() { l.write(t, i) })
		}
		l.await(t, "a thousand writes", func() bool { return l.ends[0] >= 1000 })
		c.Kill(1)
		l.await(t, "the loss", func() bool { return l.ends[1] > 0 || l.waits && l.ends[2] > 0 })
		time.Sleep(500 * time.Millisecond)
		c.Restart(1)
		c.WaitReady()
		l.mu.Lock()
		clear(l.served)
		l.mu.Unlock()
		l.await(t, "a write over every connection", func() bool { return len(l.served) == len(l.conns) })
		l.stop()
		wg.Wait()
		t.Logf("outcomes: %v", l.counts)
		l.check(t, c)
	})
}

// load is the state that callers share.
type load struct {
	conns   []database.Client
	waits   bool // a request without a connection waits for one
	mu      sync.Mutex
	stopped bool
	counts  map[string]int
	ends    [3]int64 // by outcome
	keys    [][]byte // from ok writes
	failed  [][]byte
	served  map[int]bool // connections with an ok write
}

// await waits until something holds for the outcomes.
func (l *load) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(databasetest.Patience); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		is := holds()
		l.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, databasetest.Patience)
		}
	}
}

func (l *load) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// write puts new keys, each with itself as its value, until the load is stopped.
func (l *load) write(t *testing.T, caller int) {
	const timeout = 5 * time.Second
	for n := 0; ; n++ {
		key := fmt.Appendf(nil, "caller-%04d-%06d", caller, n)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		start := time.Now()
		conn := caller % len(l.conns)
		err := l.conns[conn].Put(ctx, key, key)
		cancel()
		if took := time.Since(start); took > databasetest.Patience {
			t.Errorf("a call with a deadline of %v took %v: %v", timeout, took, err)
		}
		if l.ended(conn, key, err) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // a member that is down refuses at once
		}
	}
}

func (l *load) ended(conn int, key []byte, err error) (stop bool) {
	outcome, class := database.Classify(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[fmt.Sprintf("%v %s", outcome, class)]++
	switch outcome {
	case workload.OK:
		l.ends[0]++
		l.served[conn] = true
		l.keys = append(l.keys, key)
	case workload.Failed:
		l.ends[1]++
		l.failed = append(l.failed, key)
	default:
		l.ends[2]++
	}
	return l.stopped
}

// check reads back the keys that were written and those that were not.
func (l *load) check(t *testing.T, c *databasetest.Cluster) {
	t.Helper()
	ok, failed, unknown := l.ends[0], l.ends[1], l.ends[2]
	if ok < 1000 || failed == 0 && (!l.waits || unknown == 0) {
		t.Errorf("%d ok, %d failed, %d unknown: the load did not see the loss", ok, failed, unknown)
	}
	var found int64
	err := databasetest.Again(t, func() (err error) {
		found, err = New().CountKeys(t.Context(), c.Target())
		return err
	})
	if err != nil || found < ok || found > ok+unknown {
		t.Errorf("%d keys are found, %v; %d writes are ok and %d unknown", found, err, ok, unknown)
	}
	read := func(conn database.Client, key []byte, there bool) error {
		ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
		defer cancel()
		var value []byte
		err := databasetest.Again(t, func() (err error) {
			value, err = conn.Get(ctx, key, workload.ReadLinearizable)
			return err
		})
		if there && err == nil && !bytes.Equal(value, key) {
			return fmt.Errorf("holds %q", value)
		}
		if !there && err == nil {
			return fmt.Errorf("is there, and failed")
		}
		if _, class := database.Classify(err); !there && class == database.ClassNotFound {
			return nil
		}
		return err
	}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for n := i; n < len(l.keys); n += 100 {
				if err := read(l.conns[i%10], l.keys[n], true); err != nil {
					t.Errorf("key %s: %v", l.keys[n], err)
					return
				}
			}
			for n := i; n < len(l.failed); n += 1000 {
				if err := read(l.conns[i%10], l.failed[n], false); err != nil {
					t.Errorf("key %s: %v", l.failed[n], err)
					return
				}
			}
		})
	}
	wg.Wait()
}
