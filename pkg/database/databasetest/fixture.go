package databasetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
)

const (
	// opWithin bounds an operation that must succeed.
	opWithin = 10 * time.Second
	// recoverWithin is how soon a cluster must take writes again.
	recoverWithin = 10 * time.Second
)

// fixture is what cases share: the cluster, and names of keys that no other case
// uses.
type fixture struct {
	*Cluster
	before goleak.Option // goroutines from before the cluster
	parts  int
	names  atomic.Int64
}

// testCase is one promise of the contract.
type testCase struct {
	name string
	run  func(*testing.T, *fixture)
	// applies says for which databases it holds; nil is all.
	applies func(*fixture) bool
	// breaks says that after a failure the cluster is not fit for what follows.
	breaks bool
}

// part runs a named part of a case and counts it.
func (f *fixture) part(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	f.parts++
	t.Run(name, run)
}

func (f *fixture) info() database.Info { return f.suite.Database.Info }

// key returns a key that was not used before.
func (f *fixture) key() []byte { return fmt.Appendf(nil, "key-%08d", f.names.Add(1)) }

// dial opens a connection that the test closes at its end.
func (f *fixture) dial(t *testing.T, target database.Target) database.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	client, err := f.driver.Dial(ctx, target)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return client
}

// put writes and fails the test if it is refused.
func put(t *testing.T, c database.Client, key, value []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := c.Put(ctx, key, value); err != nil {
		t.Fatalf("put %q (%d bytes): %v", clip(key), len(value), err)
	}
}

// get reads, and fails the test if the answer never becomes want. Only a read of a
// mode that may be behind is asked again.
func get(t *testing.T, c database.Client, key []byte, mode database.ReadMode, want []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	for {
		got, err := c.Get(ctx, key, mode)
		if err == nil && bytes.Equal(got, want) {
			return
		}
		if mayLag(mode) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Fatalf("get %q (%s): %v", clip(key), mode, err)
		}
		t.Fatalf("get %q (%s): %d bytes %q, want %d bytes %q", clip(key), mode, len(got), clip(got), len(want), clip(want))
	}
}

// mayLag says whether a read may miss a write that was answered before. One after a
// sync may too: ZooKeeper's leader answers a sync at once, whether or not it has
// applied itself what it committed (2 reads of 100 were behind on a busy machine).
func mayLag(mode database.ReadMode) bool {
	return mode == database.ReadStale || mode == database.ReadSyncGet
}

// mustClass fails the test unless err has that class and one of the outcomes.
func mustClass(t *testing.T, err error, class database.Class, outcomes ...database.Outcome) {
	t.Helper()
	if err := hasClass(err, class, outcomes...); err != nil {
		t.Fatal(err)
	}
}

// hasClass returns an error unless err has that class and one of the outcomes.
func hasClass(err error, class database.Class, outcomes ...database.Outcome) error {
	outcome, got := database.Classify(err)
	switch {
	case got != class:
		return fmt.Errorf("error %w has class %q, want %q", err, got, class)
	case !slices.Contains(outcomes, outcome):
		return fmt.Errorf("error %w has outcome %v, want one of %v", err, outcome, outcomes)
	}
	return nil
}

// bytesOf returns n bytes in which every value occurs and neighbours of a period
// of 256 differ.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + i>>8)
	}
	return b
}

func clip(b []byte) []byte { return b[:min(len(b), 40)] }

// diffLines returns how two texts differ, empty if they don't.
func diffLines(want, got string) string { return cmp.Diff(want, got) }
