package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// sharedFile returns an experiment with this load and these database keys on the members.
func (r *running) sharedFile(load, keys string) string {
	return fmt.Sprintf("title: shared\nresults: %s\nload: {%s}\ndatabases: {etcd: {endpoints: ['%s'], %s}}\n",
		r.results, load, strings.Join(r.endpoints, "', '"), keys)
}

// keysBelow counts the keys below a prefix, or all.
func (r *running) keysBelow(prefix string) int64 {
	r.rig.t.Helper()
	t := r.Target()
	t.Prefix = prefix
	n, err := etcd.New().CountKeys(r.rig.t.Context(), t)
	if err != nil {
		r.rig.t.Fatalf("count the keys: %v", err)
	}
	return n
}

// others writes keys that a load without a prefix would write too. The returned function fails the
// test if one changed.
func (r *running) others() (unchanged func()) {
	t := r.rig.t
	t.Helper()
	client, err := etcd.New().Dial(t.Context(), r.Target())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	const keys = 50
	key := func(i int) []byte { return workload.AppendKey(nil, int64(i), 32) }
	for i := range keys {
		if err := client.Put(t.Context(), key(i), fmt.Append(nil, "theirs ", i)); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	return func() {
		t.Helper()
		for i := range keys {
			value, err := client.Get(t.Context(), key(i), workload.ReadLinearizable)
			if err != nil || string(value) != fmt.Sprint("theirs ", i) {
				t.Errorf("the other key %d holds %q: %v", i, value, err)
			}
		}
		if n := r.keysBelow(""); n != keys {
			t.Errorf("the cluster holds %d keys, want others' %d alone", n, keys)
		}
	}
}

// On a shared cluster only the keys of a load remain, which a cleanup removes: after the load,
// after an interrupt, or later.
func TestSharedCluster(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := startEtcd(t, steady)
	unchanged := r.others()
	const mix = "mix: {write: 1, update: 1, delete: 1, swap: 1, range: 1, read: 1}, keys: 20, key_size: 32, value_size: 64, clients: 4, connections: 2, expect: {failed: 100%}"

	t.Run("an interrupted load", func(t *testing.T) {
		stop := errors.New("interrupted")
		out, err := dialled(t, func() (*Outcome, error) {
			ctx, interrupt := context.WithCancelCause(t.Context())
			return r.runCtx(ctx, r.parse(r.sharedFile("duration: 10m, "+mix, "cleanup: true, prefix: bench/run")), func(u Update) {
				if u.Load != nil && u.Load.Done > 100 {
					interrupt(stop)
				}
			})
		})
		if !errors.Is(err, stop) {
			t.Errorf("want the interrupt, got %v", err)
		}
		rec := sharedRecord(t, out)
		if rec.State != results.StateInterrupted || rec.Shared == nil || rec.Shared.Prefix != "bench/run" || rec.Shared.Left != 0 ||
			rec.Shared.Cleanup == nil || rec.Shared.Cleanup.Removed < 20 {
			t.Errorf("the run is %s, the shared part %+v, the cleanup %+v", rec.State, rec.Shared, rec.Shared.Cleanup)
		}
		unchanged()
	})
	t.Run("keys that are left", func(t *testing.T) {
		out, err := dialled(t, func() (*Outcome, error) {
			return r.run(r.parse(r.sharedFile("requests: 300, "+mix, "guard: {p99: 10m, errors: 100%, db_size: 100%}")), nil)
		})
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		rec := sharedRecord(t, out)
		left := r.keysBelow(rec.Shared.Prefix) - 1 // the claim is no key of the load
		if left == 0 || rec.Shared.Left != left || !hasMark(rec, mark.KeysLeft) {
			t.Errorf("%d keys are left below %q, recorded are %d, marks %v", left, rec.Shared.Prefix, rec.Shared.Left, rec.Validity)
		}
		folder, err := results.Open(out.Folders[0])
		if err != nil {
			t.Fatalf("open the folder: %v", err)
		}
		if err := Cleanup(t.Context(), r.cleanup(folder, "")); err != nil {
			t.Errorf("clean up: %v", err)
		}
		if rec = sharedRecord(t, out); rec.Shared.Left != 0 || hasMark(rec, mark.KeysLeft) || rec.Shared.Cleanup.Removed != left {
			t.Errorf("after the cleanup of %d keys: %+v, marks %v", left, rec.Shared, rec.Validity)
		}
		unchanged()
	})
	t.Run("whose keys", func(t *testing.T) { r.whoseKeys(t, unchanged) })
	t.Run("upkeep", func(t *testing.T) { r.keptUp(t, unchanged) })
	t.Run("guards", func(t *testing.T) { r.guarded(t, "", unchanged) })
	t.Run("guards of generators", func(t *testing.T) {
		key := r.generate(2, true)
		defer func() { r.generators = nil }()
		r.guarded(t, key, unchanged)
	})
	t.Run("sessions and locks", func(t *testing.T) { r.holdersGone(t, unchanged) })
	t.Run("many sessions", func(t *testing.T) { r.manyRefused(t, unchanged) })
	t.Run("full speed", func(t *testing.T) {
		e := r.parse(r.sharedFile("requests: 10, clients: 1", "cleanup: true"))
		o := r.options(e, nil)
		o.FullSpeed = false
		out, err := Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "--full-speed") || !strings.Contains(err.Error(), e.Place("databases.etcd.endpoints")) || len(out.Folders) > 0 {
			t.Errorf("want a refusal before anything begins, at the endpoints: %v, folders %v", err, out.Folders)
		}
		var plan bytes.Buffer
		if err := DryRun(&plan, o, Agents{}); err == nil || !strings.Contains(plan.String(), "below dbtester-RUN-etcd/") {
			t.Errorf("the dry run must refuse and name the prefix: %v\n%s", err, plan.String())
		}
		o.Experiment = r.parse(r.sharedFile("requests: 10, clients: 1, rate: 100", "cleanup: true"))
		if _, err := Run(t.Context(), o); err != nil {
			t.Errorf("a load with a rate needs no --full-speed: %v", err)
		}
		unchanged()
	})
}

// holdersGone: nothing is left from sessions and locks after a load on a shared cluster, nor after
// an interrupted one: no key below the prefix, and no lease except those whose holders died.
func (r *running) holdersGone(t *testing.T, unchanged func()) {
	const load = "operation: update, keys: 20, rate: 50, clients: 2, key_size: 32, value_size: 64, expect: {failed: 100%}, "
	for name, c := range map[string]struct {
		length, keys string
		interrupted  bool
	}{
		"ended":       {"duration: 4s", "sessions: {held: 30, ttl: 10m, release: never}, locks: {names: 2, contenders: [3], hold: 1ms, ttl: 10m}", false},
		"interrupted": {"duration: 10m", "sessions: {held: 30, ttl: 10m, release: never}, locks: {names: 2, contenders: [3], hold: 1ms, ttl: 10m, recipe: direct}", true},
	} {
		stop := errors.New("interrupted")
		out, err := dialled(r.rig.t, func() (*Outcome, error) {
			ctx, interrupt := context.WithCancelCause(t.Context())
			return r.runCtx(ctx, r.parse(r.sharedFile(load+c.length, "cleanup: true, "+c.keys)), func(u Update) {
				if c.interrupted && u.Load != nil && u.Load.Done > 50 {
					interrupt(stop)
				}
			})
		})
		if c.interrupted != errors.Is(err, stop) || !c.interrupted && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rec := sharedRecord(t, out)
		held, err := deaths.Record().Of(rec.Records)
		if err != nil || held.Granted != 30 || held.Left > 0 {
			t.Errorf("%s: %d sessions were granted and %d are left, %v; want 30 and none", name, held.Granted, held.Left, err)
		}
		if n := r.leases(); n > 0 || rec.Shared == nil || rec.Shared.Left != 0 {
			t.Errorf("%s: the cluster has %d leases, and keys are left: %+v", name, n, rec.Shared)
		}
		unchanged()
	}
}

// dialled runs a load again, at most attempts times, if a busy machine let dials time out.
func dialled(t *testing.T, run func() (*Outcome, error)) (*Outcome, error) {
	t.Helper()
	return again(t, run, func(_ *Outcome, err error) string {
		if err == nil || !strings.Contains(err.Error(), "time-out") {
			return ""
		}
		return err.Error()
	})
}

// leases returns the number of leases in the cluster.
func (r *running) leases() int {
	t := r.rig.t
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: r.endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := client.Leases(ctx)
	if err != nil {
		t.Fatalf("list the leases: %v", err)
	}
	return len(all.Leases)
}

// manyRefused: a shared cluster has at most 1000 sessions, contenders or clients that take locks,
// unless full speed is allowed, and nothing begins before that is known.
func (r *running) manyRefused(t *testing.T, unchanged func()) {
	for name, c := range map[string]struct{ load, keys, want string }{
		"held":       {"operation: update, keys: 20, rate: 50, duration: 20s, clients: 2", "sessions: {held: 1001, ttl: 5s}", "at most 1000 held, got 1001"},
		"granted":    {"operation: keepalive, sessions: 1001, rate: 50, duration: 20s, clients: 2", "cleanup: true", "at most 1000 sessions may be granted before a load, got 1001"},
		"contenders": {"operation: update, keys: 20, rate: 50, duration: 20s, clients: 2", "locks: {names: 11, contenders: [2, 100]}", "at most 1000 contenders at the same time, got 1100"},
		"clients":    {"operation: lock, keys: 20, rate: 50, duration: 20s, clients: 1001", "cleanup: true", "at most 1000 clients, each a contender, got 1001"},
	} {
		o := r.options(r.parse(r.sharedFile(c.load, c.keys)), nil)
		for _, allowed := range []bool{false, true} {
			o.FullSpeed = allowed
			var plan bytes.Buffer
			if err := DryRun(&plan, o, Agents{}); allowed != (err == nil) || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--full-speed")) {
				t.Errorf("%s: with full speed allowed %v: %v, want %q", name, allowed, err, c.want)
			}
		}
		o.FullSpeed = false
		if out, err := Run(t.Context(), o); err == nil || len(out.Folders) > 0 {
			t.Errorf("%s: %v, folders %v, want a refusal before anything begins", name, err, out.Folders)
		}
	}
	unchanged()
}

// cleanup returns a cleanup for folder without confirmation.
func (r *running) cleanup(folder *results.Folder, prefix string) CleanupOptions {
	return CleanupOptions{
		Folder: folder, Registry: r.registry, Prefix: prefix, Say: r.rig.t.Logf,
		Access:  func(string, []string) (*config.TLS, *config.Auth, error) { return nil, nil, nil },
		Confirm: func(question string) error { r.rig.t.Log(question); return nil },
	}
}

// write writes numbered keys below a prefix, as others would.
func (r *running) write(prefix string, keys int) {
	t := r.rig.t
	t.Helper()
	target := r.Target()
	target.Prefix = prefix
	client, err := etcd.New().Dial(t.Context(), target)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	for i := range keys {
		if err := client.Put(t.Context(), workload.AppendKey(nil, int64(i), 32), []byte("theirs")); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	if err := client.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// whoseKeys runs loads below a prefix with other writers.
func (r *running) whoseKeys(t *testing.T, unchanged func()) {
	load := "requests: 50, clients: 2, connections: 2, key_size: 32, value_size: 64"
	all := func(prefix string) {
		target := r.Target()
		target.Prefix = prefix
		if err := etcd.New().Clean(t.Context(), target, database.Removable{All: true}, func(int64) {}); err != nil {
			t.Errorf("remove the keys of the test: %v", err)
		}
	}
	run := func(keys, owner string) (*results.DatabaseRun, *results.Folder, error) {
		o := r.options(r.parse(r.sharedFile(load, keys)), nil)
		o.Owner = owner
		out, err := dialled(t, func() (*Outcome, error) { return Run(t.Context(), o) })
		if len(out.Folders) != 1 {
			t.Fatalf("no folder: %v", err)
		}
		folder, openErr := results.Open(out.Folders[0])
		if openErr != nil {
			t.Fatal(openErr)
		}
		return sharedRecord(t, out), folder, err
	}
	r.write("victim/deep", 50)
	if _, _, err := run("prefix: victim, cleanup: true", "ann@desk pid 1"); err == nil || !strings.Contains(err.Error(), "reuse: true") {
		t.Errorf("foreign keys below the prefix: want a refusal that names reuse, got %v", err)
	}
	rec, _, err := run("prefix: victim, cleanup: true, reuse: true", "ann@desk pid 1")
	if err != nil || rec.Shared.Cleanup == nil || rec.Shared.Cleanup.Removed != 50 || rec.Shared.Left != 0 {
		t.Errorf("the load of 50 keys removed %+v: %v", rec.Shared, err)
	}
	if n := r.keysBelow("victim"); n != 50 {
		t.Errorf("%d keys are below the prefix, want the others' 50", n)
	}
	all("victim")

	// The same owner continues from the next free number, another one does not.
	_, first, err := run("prefix: mine", "ann@desk pid 1")
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	rec, second, err := run("prefix: mine", "ann@desk pid 2")
	if err != nil || rec.Load.FirstKey != 50 || rec.Shared.Left != 100 {
		t.Errorf("the second run begins at key %d and leaves %+v: %v", rec.Load.FirstKey, rec.Shared, err)
	}
	if _, _, err := run("prefix: mine", "bob@desk pid 3"); err == nil || !strings.Contains(err.Error(), "ann@desk") {
		t.Errorf("keys of another owner: want a refusal that names her, got %v", err)
	}
	if _, _, err := run("prefix: mine/deep", "bob@desk pid 3"); err == nil || !strings.Contains(err.Error(), "lies below mine") {
		t.Errorf("a prefix below another owner's: want a refusal, got %v", err)
	}
	r.write("mine/deep", 20)
	r.editedPrefixes(t, first, "mine")
	if err := Cleanup(t.Context(), r.cleanup(second, "")); err != nil {
		t.Errorf("clean up: %v", err)
	}
	if n := r.keysBelow("mine"); n != 20 {
		t.Errorf("%d keys are left below the prefix, want the others' 20", n)
	}
	// The owner of the last keys is unknown.
	if err := Cleanup(t.Context(), r.cleanup(first, "")); err == nil || !strings.Contains(err.Error(), "--prefix mine") {
		t.Errorf("keys without a claim: want the flag that removes them, got %v", err)
	}
	if err := Cleanup(t.Context(), r.cleanup(first, "min")); err == nil {
		t.Error("another prefix typed by hand must be refused")
	}
	if err := Cleanup(t.Context(), r.cleanup(first, "mine")); err != nil || r.keysBelow("mine") != 0 {
		t.Errorf("%d keys are left after a cleanup of all: %v", r.keysBelow("mine"), err)
	}
	unchanged()
}

// editedPrefixes cleans up with manifests whose prefix was edited.
func (r *running) editedPrefixes(t *testing.T, folder *results.Folder, prefix string) {
	t.Helper()
	before := r.keysBelow("")
	for _, edited := range []string{"mine/", "/mine", "/", "..", "mine/..", "mine/deep", "min", "m", ".", "mine//deep", "mine\n", "mine\x1b[2J", "mine\x00", strings.Repeat("m", 300)} {
		m, err := folder.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		m.Databases[0].Shared.Prefix = edited
		if err := folder.WriteManifest(m); err != nil {
			t.Fatal(err)
		}
		_ = Cleanup(t.Context(), r.cleanup(folder, ""))
		if n := r.keysBelow(""); n != before {
			t.Errorf("a manifest with the prefix %q removed %d keys", edited, before-n)
		}
		m.Databases[0].Shared.Prefix = prefix
		if err := folder.WriteManifest(m); err != nil {
			t.Fatal(err)
		}
	}
}

// keptUp runs a load until each kind of upkeep has run.
func (r *running) keptUp(t *testing.T, unchanged func()) {
	stop := errors.New("interrupted")
	out, err := dialled(t, func() (*Outcome, error) {
		ctx, interrupt := context.WithCancelCause(t.Context())
		done := map[string]bool{}
		return r.runCtx(ctx, r.parse(r.sharedFile("operation: update, keys: 20, duration: 10m, clients: 2, connections: 2, key_size: 32, value_size: 64",
			"cleanup: true, maintain: {compact: 1s, defrag: 1s, snapshot: 1s}")), func(u Update) {
			for _, kind := range upkeep.Events() {
				if done[kind] = done[kind] || strings.HasPrefix(u.Text, kind+" took"); len(done) == 3 && !slices.Contains(slices.Collect(maps.Values(done)), false) {
					interrupt(stop)
				}
			}
		})
	})
	if !errors.Is(err, stop) {
		t.Fatalf("want the interrupt, got %v", err)
	}
	rec := sharedRecord(t, out)
	var kinds []string
	effects, err := upkeep.Record().Of(rec.Records)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range effects {
		kinds = append(kinds, u.Kind)
		if u.Times < 1 || u.Longest <= 0 || u.Took < u.Longest {
			t.Errorf("upkeep %+v", u)
		}
	}
	for _, kind := range upkeep.Events() {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no %s in %q", kind, kinds)
		}
	}
	if hasMark(rec, mark.Upkeep) {
		t.Errorf("marks %v", rec.Validity)
	}
	unchanged()
}

// guarded runs ten-minute loads that pass a bound in their first seconds, or while keys are written
// before them. key names the generators, "" for this process.
func (r *running) guarded(t *testing.T, key string, unchanged func()) {
	for _, tc := range []struct {
		guard, more, want string
		began             bool // the load, before the bound was passed
		sent              bool // requests, before the bound is known to be passed
	}{
		{"p99: 1us", "", "p99", true, true},
		{"p99: 1us", ", operation: read, keys: 1000000", "p99", false, false},
		{"db_size: 0.0001%", "", "a store has", true, false},
	} {
		e := r.parse(key + r.sharedFile("duration: 10m, clients: 4, connections: 2, key_size: 32, value_size: 64"+tc.more, "cleanup: true, guard: {"+tc.guard+"}"))
		e.Trials = 2
		out, err := dialled(t, func() (*Outcome, error) {
			return r.inTime(shortLead, func() (*Outcome, error) { return r.run(e, nil) })
		})
		if err != nil {
			t.Errorf("guard %s: the records must be complete: %v", tc.guard, err)
			continue
		}
		rec := sharedRecord(t, out)
		whole := !tc.began || rec.Totals != nil && rec.Totals.Reconcile() && (!tc.sent || rec.Totals.OK > 0)
		if rec.State != results.StateComplete || !hasMark(rec, mark.Guard) || !whole || len(rec.Steps) > 0 != tc.began {
			t.Errorf("guard %s: the run is %s with %+v and marks %v", tc.guard, rec.State, rec.Totals, rec.Validity)
		}
		if !out.Guarded || len(out.Folders) != 1 || len(out.Invalid) == 0 || !strings.Contains(strings.Join(out.Invalid, "\n"), tc.want) {
			t.Errorf("guard %s: want one trial that is not valid because of %q, got %d and %q", tc.guard, tc.want, len(out.Folders), out.Invalid)
		}
		unchanged()
	}
}

func sharedRecord(t *testing.T, out *Outcome) *results.DatabaseRun {
	t.Helper()
	folder, err := results.Open(out.Folders[0])
	if err != nil {
		t.Fatalf("open the folder: %v", err)
	}
	m, err := folder.Manifest()
	if err != nil {
		t.Fatalf("read the manifest: %v", err)
	}
	return m.Databases[0]
}

func hasMark(rec *results.DatabaseRun, code string) bool {
	for _, m := range rec.Validity {
		if m.Code == code {
			return true
		}
	}
	return false
}

// A default prefix consists of the run and the tag, and drivers without a cleanup have no prefix.
func TestPrefixOf(t *testing.T) {
	db := &config.Database{Tag: "etcd-a+b", Endpoints: []string{"127.0.0.1:1"}}
	if got, want := prefixOf(db, etcd.New(), "0123456789abcdef0123"), "dbtester-0123456789abcdef-etcd-a-b"; got != want || db.PrefixSize() != len(want)+1 {
		t.Errorf("the prefix is %q of %d bytes, want %q", got, db.PrefixSize(), want)
	}
	if got := prefixOf(&config.Database{Tag: "etcd"}, etcd.New(), "0123"); got != "" {
		t.Errorf("a cluster of the load's own has the prefix %q", got)
	}
	if got := prefixOf(db, struct{ database.Driver }{}, "0123"); got != "" {
		t.Errorf("a driver without a cleanup has the prefix %q", got)
	}
}
