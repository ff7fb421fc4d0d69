package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/tools/experiment"
)

// keep writes a manifest and returns its path.
func keep(t *testing.T, manifest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.json")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// missed are the bars a run misses.
func missed(t *testing.T, list []experiment.Finding, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list {
		if !f.Met {
			names = append(names, f.What)
		}
	}
	return strings.Join(names, "; ")
}

const watched = `{"databases":[{"watched":{"stages":[%s],"counts":{"writes":%d,"delivered":%d%s}}}]}`

// Deliveries are compared with the writes and the watchers, and with the member counters, which
// have seen nothing here.
func TestMillion(t *testing.T) {
	for _, c := range []struct {
		writes, delivered int
		more, want        string
	}{
		{100, 1_000_000, "", "events that the members counted"},
		{99, 990_000, "", "acknowledged writes; events that the members counted"},
		{100, 1_000_000, `,"duplicate":1`, "lost, again, after newer ones, not come or not judged; events that the members counted"},
	} {
		list, err := million().Judge(keep(t, fmt.Sprintf(watched, "{}", c.writes, c.delivered, c.more)))
		if got := missed(t, list, err); got != c.want {
			t.Errorf("%d writes, %d delivered%s: %q are missed, want %q", c.writes, c.delivered, c.more, got, c.want)
		}
	}
	for _, manifest := range []string{`{"databases":[{}]}`, `{}`, `{"databases":[{"watched":{"stages":[{}],"broken":"reset"}}]}`} {
		if _, err := million().Judge(keep(t, manifest)); err == nil {
			t.Errorf("%s was judged", manifest)
		}
	}
}

// The memory in a stage is the median of its samples alone, and a stage without samples is an
// error.
func TestDuring(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var samples []sample
	for i, n := range []int64{900, 5, 3, 4, 800} {
		samples = append(samples, sample{at.Add(time.Duration(i) * time.Second), n})
	}
	if got, err := during(samples, at.Add(time.Second), at.Add(4*time.Second)); err != nil || got != 4 {
		t.Errorf("got %d, %v, want 4", got, err)
	}
	if _, err := during(samples, at.Add(time.Hour), at.Add(2*time.Hour)); err == nil {
		t.Error("a stage without samples has a memory")
	}
	if got, err := rssAnon(os.Getpid()); err != nil || got < 1<<20 {
		t.Errorf("this process has %d bytes, %v", got, err)
	}
}

// store is a database that has puts fail from a number on.
type store struct {
	database.Driver
	puts, fails atomic.Int64
}

func (s *store) Dial(context.Context, database.Target) (database.Client, error) { return s, nil }

func (s *store) Put(context.Context, []byte, []byte) error {
	if n, from := s.puts.Add(1), s.fails.Load(); from > 0 && n >= from {
		return errors.New("full")
	}
	return nil
}

func (s *store) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) {
	return nil, errors.New("nothing is read")
}

func (s *store) Close() error { return nil }

// The second process has a latency for each write, and one that fails is an error.
func TestWrite(t *testing.T) {
	var good, full store
	w, err := write(t.Context(), &good, time.Second, []string{"a", "b"})
	if err != nil || w.n == 0 || w.n != good.puts.Load() || w.p50 > w.p99 {
		t.Errorf("%+v of %d writes, %v", w, good.puts.Load(), err)
	}
	full.fails.Store(3)
	if w, err := write(t.Context(), &full, time.Second, []string{"a"}); err == nil {
		t.Errorf("failed writes were taken: %+v", w)
	}
}

// notice is the notification about a znode event.
func notice(transaction uint64, kind uint32, path string) []byte {
	b := binary.BigEndian.AppendUint32(nil, 1<<32-1)
	b = binary.BigEndian.AppendUint64(b, transaction)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, kind)
	b = binary.BigEndian.AppendUint32(b, 3)
	b = binary.BigEndian.AppendUint32(b, uint32(len(path)))
	return append(b, path...)
}

// The second watcher counts data changes, and those that are not after the one before.
func TestTake(t *testing.T) {
	var w rawWatcher
	for _, answer := range [][]byte{
		notice(7, dataChanged, "/a"), notice(8, 1, "/b"), notice(8, dataChanged, "/zookeeper/config"), notice(9, dataChanged, "/b"), notice(9, dataChanged, "/b"),
		binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, watchRequest), 9), 0),
	} {
		if err := w.take(answer); err != nil {
			t.Fatal(err)
		}
	}
	if w.changes != 3 || w.disorder != 1 {
		t.Errorf("got %d changes, %d in disorder, want 3, 1", w.changes, w.disorder)
	}
	whole := notice(10, dataChanged, "/a")
	for n := range len(whole) {
		if w.take(whole[:n]) == nil {
			t.Errorf("an answer of %d of %d bytes was taken", n, len(whole))
		}
	}
	refused := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, watchRequest), 9), 1<<32-6)
	if w.take(refused) == nil {
		t.Error("a refused watch was taken")
	}
}
