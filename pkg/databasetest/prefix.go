package databasetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// neighbourKeys is the default number of neighbour keys; the flag -neighbour-keys changes it.
const neighbourKeys = 100

// ourPrefix is the prefix for the load. Neighbour keys lie directly next to it.
const ourPrefix = "shared/run-1"

// neighbours returns the prefixes of neighbour keys; the empty one is a client without a prefix.
func neighbours() []string { return []string{"", "shared/run-10"} }

// besides returns keys without a prefix whose names lie directly next to the load's, if the
// database stores names unchanged.
func besides() []string {
	return []string{
		"shared", "shared/run-0/zzz", "shared/run-1", "shared/run-1-", "shared/run-1.0/5", "shared/run-10", "shared/run-2/00000000005", "shared0",
	}
}

// prefixCase: no operation on keys below a prefix, no interrupted load and no cleanup changes
// other keys, and counts include only the keys below the prefix.
func prefixCase(t *testing.T, f *fixture) {
	if f.suite.PrefixOptions != "" {
		before := f.driver
		defer func() { f.driver = before }()
		f.driver = f.suite.Database.New()
		if err := yamlfile.DecodeOptions([]byte(f.suite.Options+"\n"+f.suite.PrefixOptions), f.driver); err != nil {
			t.Fatalf("decode options: %v", err)
		}
	}
	ours := f.Target()
	ours.Prefix = ourPrefix
	w := f.inhabit(t)
	f.part(t, "claim", func(t *testing.T) { f.claims(t, ours) })
	w.unchanged(t, "claims")
	client := f.dial(t, ours)
	for _, op := range belowPrefix(f, client) {
		f.part(t, op.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			op.do(ctx, t)
		})
	}
	w.unchanged(t, "single operations")
	f.part(t, "an interrupted load", func(t *testing.T) {
		f.interruptedLoad(t, ours)
		w.unchanged(t, "the interrupted load")
	})
	f.part(t, "cleanup", func(t *testing.T) {
		f.cleanNumbers(t, ours)
		w.unchanged(t, "the cleanup of some numbers")
		f.clean(t, ours, database.Removable{All: true})
		if n := countOf(t, f, ours); n != 0 {
			t.Errorf("%d keys are left below the prefix after the cleanup", n)
		}
		w.unchanged(t, "the cleanup")
		if w.held != nil {
			for name := range w.held(t, f.Cluster) {
				if _, was := w.was[name]; isOurs(name) && !was {
					t.Errorf("%q is left after the cleanup", name)
				}
			}
		}
		f.clean(t, ours, database.Removable{All: true}) // nothing to remove
		none := ours
		none.Prefix = ""
		if err := f.driver.(database.Cleaner).Clean(t.Context(), none, database.Removable{All: true}, func(int64) {}); err == nil {
			t.Error("a cleanup without a prefix must be refused")
		}
		w.unchanged(t, "cleanups of nothing")
	})
}

// neighbourhood holds neighbour keys in their original state.
type neighbourhood struct {
	f    *fixture
	held func(testing.TB, *Cluster) map[string]string
	was  map[string]string
}

// inhabit writes neighbour keys: numbers a load would also write, and a few words.
func (f *fixture) inhabit(t *testing.T) *neighbourhood {
	t.Helper()
	n, err := strconv.Atoi(flag.Lookup("neighbour-keys").Value.String())
	if err != nil {
		t.Fatalf("parse the flag: %v", err)
	}
	all := neighbours()
	written := make([][][]byte, len(all))
	for _, key := range besides() {
		written[0] = append(written[0], []byte(key))
	}
	var clients sync.WaitGroup
	for i, prefix := range all {
		target := f.Target()
		target.Prefix = prefix
		client := f.dial(t, target)
		for k := range max(n/len(all), 30) {
			written[i] = append(written[i], workload.AppendKey(nil, int64(k), prefixKeySize))
		}
		clients.Go(func() {
			for k, key := range written[i] {
				ctx, cancel := context.WithTimeout(t.Context(), opWithin)
				err := client.Put(ctx, key, fmt.Appendf(nil, "%s's value %d", prefix, k))
				cancel()
				if err != nil {
					t.Errorf("put %q below %q: %v", key, prefix, err)
					return
				}
			}
		})
	}
	clients.Wait()
	w := &neighbourhood{f: f, held: settledKeys(f.suite.Held)}
	if f.suite.Held == nil {
		w.held = func(t testing.TB, _ *Cluster) map[string]string { return f.read(t.(*testing.T), all, written) }
	}
	w.was = w.held(t, f.Cluster)
	if len(w.was) < n/2 {
		t.Fatalf("others have %d keys, want about %d", len(w.was), n)
	}
	return w
}

// settledKeys returns a function that reads all keys until two answers in a row are equal: a member
// may answer before it has applied acknowledged writes (see mayLag).
func settledKeys(held func(testing.TB, *Cluster) map[string]string) func(testing.TB, *Cluster) map[string]string {
	return func(t testing.TB, c *Cluster) map[string]string {
		t.Helper()
		return settled(t, idleWithin, 100*time.Millisecond, "the keys still change",
			func() map[string]string { return held(t, c) }, maps.Equal[map[string]string, map[string]string])
	}
}

// prefixKeySize is the size of numbered keys in bytes.
const prefixKeySize = 11

// read returns the values of neighbour keys, read by the driver.
func (f *fixture) read(t *testing.T, prefixes []string, keys [][][]byte) map[string]string {
	t.Helper()
	held := map[string]string{}
	for i, prefix := range prefixes {
		target := f.Target()
		target.Prefix = prefix
		client := f.dial(t, target)
		for _, key := range keys[i] {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			value, err := client.Get(ctx, key, f.info().Reads[0])
			cancel()
			held[prefix+"/"+string(key)] = fmt.Sprintf("%q %v", value, err)
		}
	}
	return held
}

// isOurs reports whether a stored name belongs to the load. A tree also has the znodes for the
// prefix itself.
func isOurs(name string) bool {
	name = strings.TrimPrefix(name, "/")
	return name == ourPrefix || strings.HasPrefix(name, ourPrefix+"/")
}

// unchanged fails the test if neighbour keys changed, disappeared or were added.
func (w *neighbourhood) unchanged(t *testing.T, after string) {
	t.Helper()
	now := w.held(t, w.f.Cluster)
	wrong := 0
	for _, name := range slices.Sorted(maps.Keys(w.was)) {
		if now[name] != w.was[name] && wrong < 10 {
			wrong++
			t.Errorf("after %s the other key %q is %s, it was %s", after, name, now[name], w.was[name])
		}
	}
	for name := range now {
		if _, was := w.was[name]; !was && !isOurs(name) {
			t.Errorf("%s wrote %q, which is not below the prefix", after, name)
		}
	}
}

// belowOperation is an operation on the keys below the prefix.
type belowOperation struct {
	name string
	do   func(context.Context, *testing.T)
}

// belowPrefix returns a client's operations below the prefix. Others have the same keys.
func belowPrefix(f *fixture, c database.Client) []belowOperation {
	mode := f.info().Reads[0]
	key := func(n int64) []byte { return workload.AppendKey(nil, n, prefixKeySize) }
	ours := f.Target()
	ours.Prefix = ourPrefix
	ops := []belowOperation{
		{"read of a key that only others have", func(ctx context.Context, t *testing.T) {
			if value, err := c.Get(ctx, key(0), mode); !errors.Is(err, database.ErrNotFound) {
				t.Errorf("got %q, %v; want %v", value, err, database.ErrNotFound)
			}
		}},
		{"count before", func(_ context.Context, t *testing.T) {
			if n := countOf(t, f, ours); n != 0 {
				t.Errorf("%d keys are below a prefix without keys", n)
			}
			highestBelow(t, f, ours, -1)
		}},
		{"write", func(_ context.Context, t *testing.T) {
			for n := range int64(12) {
				put(t, c, key(n), []byte("ours"))
				get(t, c, key(n), mode, []byte("ours"))
			}
		}},
		{"count", func(_ context.Context, t *testing.T) {
			if n := countOf(t, f, ours); n != 12 {
				t.Errorf("%d keys are below the prefix, want 12", n)
			}
			highestBelow(t, f, ours, 11)
		}},
	}
	return append(ops, belowOptional(f, c, ours, key, mode)...)
}

// belowOptional returns the operations that only some clients and drivers have, on the
// keys the operations of [belowPrefix] left.
func belowOptional(f *fixture, c database.Client, ours database.Target, key func(int64) []byte, mode workload.ReadMode) (ops []belowOperation) {
	if d, ok := c.(database.Deleter); ok {
		ops = append(ops, belowOperation{"delete", func(ctx context.Context, t *testing.T) {
			for _, n := range []int64{11, 11, 20} { // one key twice, and one that only others have
				if err := d.Delete(ctx, key(n)); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
			absent(t, f, c, key(11))
		}})
	}
	if s, ok := c.(database.Swapper); ok {
		ops = append(ops, belowOperation{"swap", func(ctx context.Context, t *testing.T) {
			if err := s.Swap(ctx, key(1), []byte("ours"), []byte("swapped")); err != nil {
				t.Errorf("swap: %v", err)
			}
			mustClass(t, s.Swap(ctx, key(21), []byte("'s value 21"), []byte("x")), database.ClassConflict, workload.Failed)
		}})
	}
	if x, ok := c.(database.Transactor); ok {
		ops = append(ops, belowOperation{"txn", func(ctx context.Context, t *testing.T) {
			hasVersion(t, x, key(22), database.NoVersion) // only others have it
			p := []database.GuardedPut{{Key: key(2), Value: []byte("by a txn")}}
			conflicts(t, x, "no version", p, database.UnknownVersion)
			var err error
			if p[0].Version, err = x.Version(ctx, p[0].Key); err != nil {
				t.Fatalf("read a version: %v", err)
			}
			makes(t, x, p)
			get(t, c, key(2), mode, []byte("by a txn"))
		}})
	}
	ops = append(ops, belowRanges(f, c, key, mode)...)
	if b, ok := f.driver.(database.Bulker); ok {
		ops = append(ops, belowOperation{"many keys", func(ctx context.Context, t *testing.T) {
			conn, err := b.DialBulk(ctx, ours)
			if err != nil {
				t.Fatalf("open a connection for many keys: %v", err)
			}
			var pairs []database.Pair
			for n := range int64(min(5, b.BulkSize(prefixKeySize, 10))) {
				pairs = append(pairs, database.Pair{Key: key(n), Value: []byte("many")})
			}
			if err := errors.Join(conn.PutAll(ctx, pairs), conn.Close()); err != nil {
				t.Errorf("write many keys: %v", err)
			}
			get(t, c, key(0), mode, []byte("many"))
		}})
	}
	return ops
}

// belowRanges returns the operations that read several keys in one request.
func belowRanges(f *fixture, c database.Client, key func(int64) []byte, mode workload.ReadMode) (ops []belowOperation) {
	if r, ok := c.(database.Ranger); ok {
		ops = append(ops, belowOperation{"range", func(ctx context.Context, t *testing.T) {
			for _, tc := range []struct{ from, limit, want int }{{0, 5, 5}, {8, 100, 3}, {0, 0, 11}, {12, 10, 0}} {
				n, _, err := r.Range(ctx, key(int64(tc.from)), tc.limit, mode)
				if err != nil || n != tc.want {
					t.Errorf("a range of %d keys from %d read %d, want %d: %v", tc.limit, tc.from, n, tc.want, err)
				}
			}
		}})
	}
	if l, ok := c.(database.Lister); ok {
		ops = append(ops, belowOperation{"lists", func(ctx context.Context, t *testing.T) {
			for _, how := range f.info().Lists {
				want := 11
				if how.Bounded() {
					want = 5
				}
				if n, _, err := l.List(ctx, how, key(0), 5, mode); err != nil || n != want {
					t.Errorf("a range of the mode %s with the limit 5 read %d keys, want %d: %v", how, n, want, err)
				}
			}
		}})
	}
	return ops
}

// interruptedLoad runs a load of all operations below the prefix, and cancels its context while it
// runs, as Ctrl-C would.
func (f *fixture) interruptedLoad(t *testing.T, ours database.Target) {
	t.Helper()
	l := workload.Load{Keyspace: workload.Keyspace{Keys: 20}, Sizing: workload.Sizing{KeySize: prefixKeySize, ValueSize: 64, RangeLimit: 5}, Content: workload.Content{Read: f.info().Reads[0]}, Limits: workload.Limits{Timeout: opWithin}}
	for _, op := range f.info().Operations {
		if op != workload.OpReadOneshot && op != workload.OpCreate && !op.OfSessions() && !op.Locks() { // writes create keys already, sessions have no prefix, and locks have their own case
			l.Mix = append(l.Mix, workload.Share{Operation: op, Weight: 1})
		}
	}
	spec := load.Spec{Load: l, Seed: 1}
	conns := []database.Client{f.dial(t, ours)}
	if err := load.Preload(t.Context(), spec, 1, conns, nil); err != nil {
		t.Fatalf("preload: %v", err)
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	stop := errors.New("interrupted")
	rec := load.NewRecorder(discard{}, spec.Operations(), func(p load.Progress) {
		if p.Done > 50 {
			interrupt(stop)
		}
	})
	_, err := load.NewEngine(spec, rec).Step(ctx, load.Step{Step: workload.Step{Duration: 10 * time.Minute, Clients: 1}}, conns)
	if !errors.Is(err, stop) {
		t.Errorf("the load must end with the interrupt, got %v", err)
	}
}

// discard drops the records.
type discard struct{}

func (discard) Second(load.Second) error      { return nil }
func (discard) Total(load.Total) error        { return nil }
func (discard) Member(load.MemberTotal) error { return nil }

// cleanNumbers removes some numbers. Their neighbours stay: other numbers, numbers of another size,
// and keys below a longer prefix.
func (f *fixture) cleanNumbers(t *testing.T, ours database.Target) {
	t.Helper()
	deeper := ours
	deeper.Prefix += "/deep"
	client, below := f.dial(t, ours), f.dial(t, deeper)
	key := func(n int64, size int) []byte { return workload.AppendKey(nil, n, size) }
	for n := range int64(30) {
		put(t, client, key(n, prefixKeySize), []byte("ours"))
		put(t, below, key(n, prefixKeySize), []byte("deep"))
	}
	put(t, client, key(7, prefixKeySize+1), []byte("longer"))
	f.clean(t, ours, database.Removable{Numbers: workload.KeySpans{{Size: prefixKeySize, First: 5, End: 25}}})
	mode := f.info().Reads[0]
	for n := range int64(30) {
		if n >= 5 && n < 25 {
			absent(t, f, client, key(n, prefixKeySize))
		} else {
			get(t, client, key(n, prefixKeySize), mode, []byte("ours"))
		}
		get(t, below, key(n, prefixKeySize), mode, []byte("deep"))
	}
	get(t, client, key(7, prefixKeySize+1), mode, []byte("longer"))
	f.clean(t, deeper, database.Removable{All: true})
}

// claims: a claim is created once, replaced only with its version, and removed.
func (f *fixture) claims(t *testing.T, ours database.Target) {
	c, ok := f.driver.(database.Claimer)
	if !ok {
		return // the claim is an ordinary key
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*opWithin)
	defer cancel()
	has := func(want string) int64 {
		t.Helper()
		text, version, err := c.Claim(ctx, ours)
		if err != nil || string(text) != want || (version == database.NoVersion) != (want == "") {
			t.Fatalf("the claim is %q with version %d, want %q: %v", text, version, want, err)
		}
		return version
	}
	has("")
	if err := c.SetClaim(ctx, ours, []byte("first"), database.NoVersion); err != nil {
		t.Fatalf("create a claim: %v", err)
	}
	mustClass(t, c.SetClaim(ctx, ours, []byte("second"), database.NoVersion), database.ClassConflict, workload.Failed)
	version := has("first")
	if err := c.SetClaim(ctx, ours, []byte("third"), version); err != nil {
		t.Fatalf("replace a claim: %v", err)
	}
	mustClass(t, c.SetClaim(ctx, ours, []byte("fourth"), version), database.ClassConflict, workload.Failed)
	has("third")
	if n := countOf(t, f, ours); n != 0 {
		t.Errorf("the claim counts as %d keys", n)
	}
	if err := c.RemoveClaim(ctx, ours); err != nil {
		t.Fatalf("remove a claim: %v", err)
	}
	has("")
}

// clean removes keys below a prefix.
func (f *fixture) clean(t *testing.T, target database.Target, which database.Removable) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*opWithin)
	defer cancel()
	last := int64(0)
	err := f.driver.(database.Cleaner).Clean(ctx, target, which, func(n int64) {
		if n <= last {
			t.Errorf("the cleanup reports %d removed keys after %d", n, last)
		}
		last = n
	})
	if err != nil {
		t.Errorf("clean: %v", err)
	}
}

func countOf(t *testing.T, f *fixture, target database.Target) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	n, err := f.driver.(database.Counter).CountKeys(ctx, target)
	if err != nil {
		t.Fatalf("count the keys: %v", err)
	}
	return n
}

func highestBelow(t *testing.T, f *fixture, target database.Target, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	got, err := f.driver.(database.KeyFinder).HighestKey(ctx, target, prefixKeySize)
	if err != nil || got != want {
		t.Errorf("the highest key below the prefix is %d, want %d: %v", got, want, err)
	}
}
