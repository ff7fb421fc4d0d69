package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// versioned is a store whose keys have versions.
type versioned struct {
	*store
	versions map[string]int64
	reads    atomic.Int64
	// tells makes answers to conflicts have the key's version.
	tells bool
	// lose, if not 0, makes the answer to one in so many transactions get lost.
	lose, txns int
	takes      time.Duration // for each request
}

func newVersioned() *versioned {
	return &versioned{store: &store{m: map[string][]byte{}}, versions: map[string]int64{}}
}

func (v *versioned) Put(ctx context.Context, key, value []byte) error {
	if err := v.store.Put(ctx, key, value); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.versions[string(key)]++
	return nil
}

func (v *versioned) Txn(_ context.Context, puts []database.GuardedPut) error {
	time.Sleep(v.takes / 2)
	defer time.Sleep(v.takes / 2)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range puts {
		if held := v.versions[string(puts[i].Key)]; held != puts[i].Version {
			if puts[i].Version = database.UnknownVersion; v.tells {
				puts[i].Version = held
			}
			return database.NotApplied(database.ClassConflict, errors.New("another version"))
		}
	}
	for i := range puts {
		key := string(puts[i].Key)
		v.versions[key]++
		v.m[key] = append([]byte(nil), puts[i].Value...)
		puts[i].Version = v.versions[key]
	}
	if v.txns++; v.lose > 0 && v.txns%v.lose == 0 {
		for i := range puts {
			puts[i].Version--
		}
		return database.MaybeApplied(database.ClassTimeout, errors.New("no answer"))
	}
	return nil
}

func (v *versioned) Version(_ context.Context, key []byte) (int64, error) {
	v.reads.Add(1)
	time.Sleep(v.takes)
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.versions[string(key)], nil
}

// transact writes the keys before a load and runs one step.
func transact(t *testing.T, spec Spec, step workload.Step, v *versioned) (*memory, *Recorder, StepResult) {
	t.Helper()
	conns := []database.Client{v}
	if spec.Existing() > 0 {
		if err := Preload(t.Context(), spec, 10, conns, nil); err != nil {
			t.Fatalf("preload the keys: %v", err)
		}
	}
	sink := newMemory()
	var last Progress
	rec := NewRecorder(sink, spec.Operations(), func(p Progress) { last = p })
	res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: step}, conns)
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	if got := rec.Totals(); last.Errors != got.Unknown || last.Declined != got.Failed {
		t.Errorf("the progress has %d errors and %d declined requests, want %d and %d: a conflict is no error", last.Errors, last.Declined, got.Unknown, got.Failed)
	}
	if !rec.Totals().Reconcile() {
		t.Errorf("counts must reconcile, got %+v", rec.Totals())
	}
	return sink, rec, res
}

func guardedSpec(op workload.Op) Spec {
	return Spec{Seed: 4, Load: workload.Load{Content: workload.Content{Operation: op}, Keyspace: workload.Keyspace{Keys: 50, KeyLaw: workload.KeysUniform}, Sizing: workload.Sizing{TxnKeys: 1, KeySize: 8, ValueSize: 32}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Second}}}
}

// TestTxnNeedsOneRoundTrip: one client never reads a version during the load, and every
// request is one applied transaction.
func TestTxnNeedsOneRoundTrip(t *testing.T) {
	for _, keys := range []int{1, 3} {
		v := newVersioned()
		spec := guardedSpec(workload.OpTxn)
		spec.TxnKeys = keys
		_, rec, res := transact(t, spec, workload.Step{Clients: 1, Requests: 2000}, v)
		if got := rec.Totals(); got.OK != 2000 || v.txns != 2000 || res.VersionReads != 0 || v.reads.Load() != spec.Keys {
			t.Errorf("%d keys: %d ok of %d transactions, %d versions read before the load and %d during it, want 2000 of 2000, %d and 0",
				keys, got.OK, v.txns, v.reads.Load(), res.VersionReads, spec.Keys)
		}
		var written int64
		for _, n := range v.versions {
			written += n
		}
		if want := spec.Keys + int64(2000*keys); written != want {
			t.Errorf("%d keys: %d writes of keys, want %d", keys, written, want)
		}
		work, err := spec.sequence(1)
		if err != nil {
			t.Fatalf("make a sequence: %v", err)
		}
		for key, value := range v.m {
			number, _ := workload.KeyNumber([]byte(key), spec.KeySize)
			if _, err := work.CheckKey(value, number); err != nil {
				t.Errorf("key %s: %v", key, err)
			}
		}
	}
}

// TestTxnConflicts: clients that write one key lose races, which count as declined and not as
// errors, and the version of the key counts the won races.
func TestTxnConflicts(t *testing.T) {
	for name, tells := range map[string]bool{"answers with versions": true, "answers without": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVersioned()
				v.tells, v.takes = tells, time.Millisecond
				spec := guardedSpec(workload.OpTxn)
				spec.Keys, spec.KeyLaw, spec.SameKey = 0, "", true
				sink, rec, res := transact(t, spec, workload.Step{Clients: 8, Requests: 4000}, v)
				got := rec.Totals()
				if got.OK+got.Failed != 4000 || got.OK < 400 || got.Failed < 400 {
					t.Errorf("%d ok and %d failed of 4000 by 8 clients, want many of both", got.OK, got.Failed)
				}
				for _, n := range v.versions { // there is one key, written once before the load
					if n-1 != got.OK {
						t.Errorf("the key was written %d times by %d transactions that ended ok", n-1, got.OK)
					}
				}
				for _, e := range sink.errors {
					if e.Class != string(database.ClassConflict) {
						t.Errorf("%d x %s: %s, want conflicts only", e.Count, e.Class, e.FirstText)
					}
				}
				declined := sink.totals[results.Series{Timing: results.TimingService, Operation: "txn", Outcome: workload.Declined, Phase: results.PhaseMeasure}]
				if declined != got.Failed {
					t.Errorf("%d declined requests have a time, want all %d conflicts", declined, got.Failed)
				}
				if reads := v.reads.Load() - 1; reads != res.VersionReads || tells && reads > 0 {
					t.Errorf("%d versions were read during the load and %d recorded, want none if answers have them", reads, res.VersionReads)
				}
			})
		})
	}
}

// TestTxnWithRate: reading a version before a request takes the client's time, but neither makes
// the client late nor adds to the service time.
func TestTxnWithRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVersioned()
		v.lose, v.takes = 2, 10*time.Millisecond
		sink, rec, res := transact(t, guardedSpec(workload.OpTxn), workload.Step{Clients: 20, Rate: 100, Requests: 1000}, v)
		got := rec.Totals()
		if got.OK+got.Unknown+got.Failed != 1000 || got.Unknown < 300 {
			t.Errorf("%+v, want 1000 requests and every second one unknown", got)
		}
		if res.VersionReads < 300 || v.reads.Load() != 50+res.VersionReads {
			t.Errorf("%d versions read, of them %d recorded, want about as many as answers were lost", v.reads.Load()-50, res.VersionReads)
		}
		if got.Late > 10 || res.ClientDelay > 50*time.Millisecond {
			t.Errorf("%d requests were late by %v in all: reading a version is not the client's delay", got.Late, res.ClientDelay)
		}
		p := sink.quant[results.Series{Timing: results.TimingService, Operation: "txn", Outcome: workload.OK, Phase: results.PhaseMeasure}]
		if max := time.Duration(p(1)); max > 11*time.Millisecond {
			t.Errorf("the longest service time is %v, want 10 ms: one round trip", max)
		}
	})
}

// TestCreate: a create makes a missing key, and is counted as one.
func TestCreate(t *testing.T) {
	v := newVersioned()
	spec := guardedSpec(workload.OpCreate)
	spec.Keys, spec.KeyLaw, spec.TxnKeys = 0, "", 0
	_, rec, res := transact(t, spec, workload.Step{Clients: 10, Requests: 3000}, v)
	if created, perhaps := rec.Created(); rec.Totals().OK != 3000 || created != 3000 || perhaps != 0 || len(v.m) != 3000 || v.txns != 3000 || v.reads.Load()+res.VersionReads != 0 {
		t.Errorf("%+v, %d keys created, %d in the store, %d versions read; want 3000 created keys and none read", rec.Totals(), created, len(v.m), v.reads.Load())
	}
}

// unversioned is a store that cannot read versions.
type unversioned struct{ *versioned }

func (unversioned) Version(context.Context, []byte) (int64, error) {
	return 0, database.NotApplied(database.ClassDenied, errors.New("not allowed"))
}

// TestVersionsThatCannotBeRead: the load does not begin.
func TestVersionsThatCannotBeRead(t *testing.T) {
	spec := guardedSpec(workload.OpTxn)
	rec := NewRecorder(newMemory(), spec.Operations(), nil)
	_, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 3, Requests: 10}}, []database.Client{unversioned{newVersioned()}})
	if _, class := database.Classify(err); class != database.ClassDenied || rec.Totals().Sent != 0 {
		t.Errorf("the step ended with %v and sent %d requests, want the reason and none", err, rec.Totals().Sent)
	}
}

// together is a store which reads many versions at once.
type together struct {
	*versioned
	calls atomic.Int64
}

func (m *together) Versions(ctx context.Context, keys [][]byte, versions []int64) (err error) {
	m.calls.Add(1)
	for i, key := range keys {
		if versions[i], err = m.Version(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// TestVersionsTogether: if the database can read many versions at once, a thousandth of the
// requests reads all key versions, and every version is right.
func TestVersionsTogether(t *testing.T) {
	v := &together{versioned: newVersioned()}
	spec := guardedSpec(workload.OpTxn)
	spec.Keys = 12_345
	if err := Preload(t.Context(), spec, 10, []database.Client{v}, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	for i := int64(0); i < spec.Keys; i += 3 {
		v.versions[string(workload.AppendKey(nil, i, spec.KeySize))] += i
	}
	rec := NewRecorder(newMemory(), spec.Operations(), nil)
	res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 7, Requests: 5000}}, []database.Client{v})
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	if got := rec.Totals(); v.calls.Load() != 13 || v.reads.Load() != spec.Keys+res.VersionReads || got.Failed > 100 {
		t.Errorf("%d calls read %d versions, and %d transactions of 5000 were conflicts, want 13 calls, %d versions and few conflicts", v.calls.Load(), v.reads.Load(), got.Failed, spec.Keys)
	}
}
