package databasetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// fixture gives a case the cluster and unused keys.
type fixture struct {
	*Cluster
	before goleak.Option // goroutines from before the cluster
	parts  int
	names  *atomic.Int64 // shared by the cases
}

// apart returns a fixture with the same members for one case: it counts its own parts, and its
// cluster reports to the test of that case.
func (f *fixture) apart() *fixture {
	cluster := *f.Cluster
	return &fixture{Cluster: &cluster, before: f.before, names: f.names}
}

// testCase proves one promise of the contract.
type testCase struct {
	name string
	// in lists the parts of the suite that also have the case.
	in  parts
	run func(*testing.T, *fixture)
	// applies reports whether the case is for this database; nil means all.
	applies func(*fixture) bool
	// breaks means that later cases cannot run on the cluster after a failure.
	breaks bool
	// waits reports whether the case mostly waits, on this cluster, and has its own keys: it runs
	// at the same time as neighbouring cases that wait too. Nil means that it runs by itself.
	waits func(*fixture) bool
	// slow means that the case takes seconds, as those do that break or wait, or follows such cases.
	slow bool
}

func (c testCase) takesSeconds() bool { return c.slow || c.breaks || c.waits != nil }

// parts names the cases to run instead of the whole suite.
type parts []Part

// part runs a named part and counts it.
func (f *fixture) part(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	f.parts++
	t.Run(name, run)
}

func (f *fixture) info() database.Info { return f.suite.Database.Info }

// key returns an unused key.
func (f *fixture) key() []byte { return fmt.Appendf(nil, "key-%08d", f.names.Add(1)) }

// dial opens a connection the test closes at its end.
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

// put writes, and fails the test on an error.
func put(t *testing.T, c database.Client, key, value []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := Again(t, func() error { return c.Put(ctx, key, value) }); err != nil {
		t.Fatalf("put %q (%d bytes): %v", clip(key), len(value), err)
	}
}

// Again repeats a request while a server answers that the leader changes, as it may on a busy
// machine, and returns the last error.
func Again(t testing.TB, request func() error) (err error) {
	t.Helper()
	Until(t, Patience, 100*time.Millisecond, func() error {
		if err = request(); leaderChanges(err) {
			t.Logf("a request is repeated: %v", err)
			return err
		}
		return nil
	})
	return err
}

// leaderChanges reports whether a server answered that the leader changes.
func leaderChanges(err error) bool {
	_, class := database.Classify(err)
	return class == database.ClassLeaderChange
}

// get reads, and fails the test unless the value is want. It repeats reads only in modes that may
// be stale.
func get(t *testing.T, c database.Client, key []byte, mode workload.ReadMode, want []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	within := time.Duration(0)
	if mayLag(mode) {
		within = opWithin
	}
	Until(t, within, 10*time.Millisecond, func() error {
		got, err := readAgain(ctx, t, c, key, mode)
		if err != nil {
			return fmt.Errorf("get %q (%s): %w", clip(key), mode, err)
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("get %q (%s): %d bytes %q, want %d bytes %q", clip(key), mode, len(got), clip(got), len(want), clip(want))
		}
		return nil
	})
}

// readAgain reads again as [Again] does.
func readAgain(ctx context.Context, t *testing.T, c database.Client, key []byte, mode workload.ReadMode) (value []byte, err error) {
	t.Helper()
	err = Again(t, func() (err error) {
		value, err = c.Get(ctx, key, mode)
		return err
	})
	return value, err
}

// mayLag reports whether a read may miss a write answered before. Even a read after a sync may:
// a ZooKeeper leader answers a sync before it has applied everything that it committed (2 of 100
// reads were stale on a busy machine).
func mayLag(mode workload.ReadMode) bool {
	return mode == workload.ReadStale || mode == workload.ReadSyncGet
}

// mustClass fails the test unless err has that class and one of the outcomes.
func mustClass(t *testing.T, err error, class database.Class, outcomes ...workload.Outcome) {
	t.Helper()
	if err := hasClass(err, class, outcomes...); err != nil {
		t.Fatalf("error of the wrong kind: %v", err)
	}
}

// hasClass returns an error unless err has that class and one of the outcomes.
func hasClass(err error, class database.Class, outcomes ...workload.Outcome) error {
	outcome, got := database.Classify(err)
	switch {
	case got != class:
		return fmt.Errorf("error %w has class %q, want %q", err, got, class)
	case !slices.Contains(outcomes, outcome):
		return fmt.Errorf("error %w has outcome %v, want one of %v", err, outcome, outcomes)
	}
	return nil
}

// bytesOf returns n bytes in which every value occurs and each 256 bytes differ from the next.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + i>>8)
	}
	return b
}

func clip(b []byte) []byte { return b[:min(len(b), 40)] }

// open reports whether the cluster has neither TLS nor credentials.
func (f *fixture) open() bool { return f.suite.TLS == nil && f.suite.Auth == nil }

// absent fails the test if the key exists.
func absent(t *testing.T, f *fixture, c database.Client, key []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	value, err := readAgain(ctx, t, c, key, f.info().Reads[0])
	if !errors.Is(err, database.ErrNotFound) {
		t.Fatalf("got %q, %v; want %v", value, err, database.ErrNotFound)
	}
}

// serves fails the test unless the client writes and reads.
func serves(t *testing.T, f *fixture, c database.Client) {
	t.Helper()
	key := f.key()
	put(t, c, key, key)
	get(t, c, key, f.info().Reads[0], key)
}

func count(t *testing.T, f *fixture) (n int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	err := Again(t, func() (err error) {
		n, err = f.driver.(database.Counter).CountKeys(ctx, f.Target())
		return err
	})
	if err != nil {
		t.Fatalf("count the keys: %v", err)
	}
	return n
}

// inTime returns the error from do, or errLate without waiting longer for it.
func inTime(ctx context.Context, do func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(promptly):
		return fmt.Errorf("%w: it has not returned %v later", errLate, promptly)
	}
}

// promptly is the time in which a call must return after its context has ended: it means at once,
// but on a busy machine. Members that answer nothing do so until all calls returned.
const promptly = Patience

// errLate is the error for a call that did not return promptly after its context ended.
var errLate = errors.New("a call is still running although its context has ended")

// below returns the names of the commands behind a proxy, which is a member's last command.
func below(p database.Plan) []string {
	var names []string
	for _, c := range p.Commands[:len(p.Commands)-1] {
		names = append(names, c.Name)
	}
	return names
}

// drives reports whether the driver has an optional interface.
func drives[T any](f *fixture) bool {
	_, ok := f.driver.(T)
	return ok
}

// watchesWait reports whether watches may be tested at the same time as sessions: without a prefix,
// watchers on all keys would also receive changes to session keys.
func watchesWait(f *fixture) bool { return f.open() && drives[database.SessionDialer](f) }

// lists reports whether ranges have more modes than one.
func lists(f *fixture) bool { return len(f.info().Lists) > 0 }

// offers returns a condition: whether the database lists an operation.
func offers(op workload.Op) func(*fixture) bool {
	return func(f *fixture) bool { return slices.Contains(f.info().Operations, op) }
}
