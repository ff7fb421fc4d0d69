package control

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/consistency"
	judge "github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/consistency/recheck"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestConsistency runs a load on stores that lie: each lie is found, and has its mark and a witness
// that shows it. An honest store, and one that applies a write after its time-out, have no
// violation among all requests. make test has each lie and each class once, make test-long each lie
// with all the mixes.
func TestConsistency(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const reads, deletes, txns = "{read: 50, update: 50}", "{read: 45, update: 45, delete: 10}", "{txn: 100}"
	for _, c := range []struct {
		lie   fake.Lie
		mix   string
		class judge.Class // "" if there must be no violation
		lost  bool        // when the keys are read back
		long  bool        // its kind is shown by another case
	}{
		{fake.Honest, reads, "", false, true},
		{fake.Honest, deletes, "", false, false},
		{fake.Honest, "{read: 50, txn: 50}", "", false, false},
		{fake.Late, reads, "", false, false},
		{fake.Drop, reads, judge.StaleValue, false, true},
		{fake.Drop, "{update: 100}", "", true, false},
		{fake.Older, reads, judge.StaleValue, false, false},
		{fake.Stale, reads, judge.StaleValue, false, false},
		{fake.Other, reads, judge.Phantom, false, false},
		{fake.Phantom, reads, judge.Phantom, false, false},
		{fake.Undelete, deletes, judge.ResurrectedValue, false, false},
		{fake.Double, txns, judge.DoubleSwap, false, false},
	} {
		if c.long && !slowtest.Long() {
			continue
		}
		t.Run(fmt.Sprintf("%s of %s", c.lie, c.mix), func(t *testing.T) {
			r := newRig(t)
			every := 50
			switch {
			case c.lost:
				every = 3
			case c.lie == fake.Double, c.lie == fake.Undelete: // among the conflicts, and among the deletes
				every = 5
			}
			out, err := r.run(r.experiment(fmt.Sprintf(`
load: {mix: %s, keys: 20, key_law: uniform, requests: 6000, clients: 8, connections: 8, timeout: 60s, key_size: 16, value_size: 32}
consistency: true
databases: {fake: {options: {lie: %q, lie_every: %d}}}
`, c.mix, c.lie, every)), nil)
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			rec := r.read(out.Folders[0], 0)
			v, err := consistency.Record().Of(rec.run.Records)
			if err != nil || v.Form != consistency.Judged || v.Counts.Operations != 6000 || v.Counts.Judged != 6000 || v.Counts.Late != 0 {
				t.Fatalf("the verdict is %+v, %v, want 6000 requests judged", v, err)
			}
			if wrong := hasMark(rec.run, mark.WrongValue); wrong != (c.lie == fake.Other) {
				t.Errorf("wrong values are marked is %v: %+v", wrong, rec.run.Validity)
			}
			if found := v.Violations() > 0; found != (c.class != "") || found != hasMark(rec.run, mark.NotLinearizable) {
				t.Errorf("violations %+v, marks %+v", v.Counts.Violations, rec.run.Validity)
			}
			if h := v.Held; h == nil || h.Keys == 0 || h.Read != h.Keys || h.Foreign > 0 && c.lie != fake.Phantom && c.lie != fake.Other || v.NotReadBack != "" {
				t.Errorf("the keys after the load are %+v (%s)", v.Held, v.NotReadBack)
			} else if lost := h.Lost() > 0; c.lost && !lost || c.class == "" && lost && !c.lost || lost != hasMark(rec.run, mark.LostWrites) {
				t.Errorf("the keys after the load are %+v, marks %+v", v.Held, rec.run.Validity)
			}
			mustShow(t, filepath.Join(out.Folders[0], rec.run.Tag), c.class)
		})
	}
}

// mustShow fails unless the witnesses in dir show violations, at least one in class.
func mustShow(t *testing.T, dir string, class judge.Class) {
	t.Helper()
	witnesses, err := consistency.ReadWitnesses(filepath.Join(dir, consistency.FileWitness))
	if err != nil {
		t.Fatalf("read the witnesses: %v", err)
	}
	for n := range witnesses {
		if err := witnesses[n].Check(); err != nil {
			t.Errorf("%s: %v", witnesses[n].Words(0), err)
		}
	}
	if class == "" && len(witnesses) == 0 {
		return
	}
	if !slices.ContainsFunc(witnesses, func(w judge.Witness) bool { return w.Class == class }) {
		t.Errorf("no witness of %d is a %s", len(witnesses), class)
	}
}

// TestConsistencyOfGenerators: two generators with their own keys judge like one machine. An honest
// store has no violation, lies are found, and lost writes are found when keys are read back.
func TestConsistencyOfGenerators(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, c := range []struct {
		lie  fake.Lie
		mix  string
		lost bool
	}{
		{fake.Honest, "{read: 50, update: 50}", false},
		{fake.Older, "{read: 50, update: 50}", false},
		{fake.Drop, "{update: 100}", true},
	} {
		t.Run(string(c.lie), func(t *testing.T) {
			r := newRig(t)
			key := r.generate(2, true)
			out, err := r.hurried(key + fmt.Sprintf(`
load: {mix: %s, keys: 20, key_law: sequential, requests: 3000, clients: 8, connections: 8, timeout: 60s, key_size: 16, value_size: 32}
consistency: true
databases: {fake: {options: {lie: %q, lie_every: 7}}}
`, c.mix, c.lie))
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			r.mustBeIdle()
			rec := r.read(out.Folders[0], 0)
			v, err := consistency.Record().Of(rec.run.Records)
			if err != nil || v.Form != consistency.Judged || v.Parts != 2 || v.Counts.Judged != 3000 || v.Counts.Operations != 3000 {
				t.Fatalf("the verdict is %+v, %v, want 3000 requests judged by two generators", v, err)
			}
			if found := v.Violations() > 0; found != (c.lie == fake.Older) || found != hasMark(rec.run, mark.NotLinearizable) {
				t.Errorf("violations %+v, marks %+v", v.Counts.Violations, rec.run.Validity)
			}
			if h := v.Held; h == nil || h.Keys != 20 || h.Read != 20 || h.Foreign > 0 || c.lie != fake.Older && h.Lost() > 0 != c.lost || h.Lost() > 0 != hasMark(rec.run, mark.LostWrites) {
				t.Errorf("the keys after the load are %+v (%s)", v.Held, v.NotReadBack)
			}
			class := judge.Class("")
			if c.lie == fake.Older {
				class = judge.StaleValue
			}
			mustShow(t, filepath.Join(out.Folders[0], rec.run.Tag), class)
		})
	}
}

// TestWeakerPromise: in reads that promise less than linearizability, such as sync and get in
// ZooKeeper, older values are staleness and never a violation.
func TestWeakerPromise(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	db := fake.Database()
	db.Name = "weaker"
	db.Info.Promises = map[workload.ReadMode]database.Promise{workload.ReadLinearizable: {Text: "a member answers from its own copy"}}
	r := newRigOf(t, database.NewRegistry(db))
	out, err := r.run(r.experiment(`
load: {mix: {read: 50, update: 50}, keys: 20, key_law: uniform, requests: 6000, clients: 8, connections: 8, timeout: 60s, key_size: 16, value_size: 32}
consistency: true
databases: {weaker: {options: {lie: older, lie_every: 5}}}
`), nil)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	rec := r.read(out.Folders[0], 0)
	v, err := consistency.Record().Of(rec.run.Records)
	if err != nil || v.Form != consistency.Measured || v.Counts.Judged != 6000 || v.Counts.StaleReads == 0 || v.Staleness == nil || v.Staleness.N != v.Counts.StaleReads {
		t.Errorf("the verdict is %+v, %v, want stale reads among 6000", v, err)
	}
	if v.Violations() > 0 || hasMark(rec.run, mark.NotLinearizable) {
		t.Errorf("violations %+v, marks %+v of a mode that promises less", v.Counts.Violations, rec.run.Validity)
	}
	mustShow(t, filepath.Join(out.Folders[0], rec.run.Tag), "")
}

// TestConsistencySample: all requests on a few keys are recorded, and Porcupine finds violations on
// a key if and only if the run did.
func TestConsistencySample(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, c := range []struct {
		lie   fake.Lie
		mix   string
		wrong bool
	}{
		{fake.Honest, "{read: 50, update: 50}", false},
		{fake.Honest, "{read: 40, update: 40, delete: 20}", false},
		{fake.Honest, "{read: 50, txn: 50}", false},
		{fake.Late, "{read: 50, update: 50}", false},
		{fake.Older, "{read: 50, update: 50}", true},
		{fake.Phantom, "{read: 50, update: 50}", true},
	} {
		t.Run(fmt.Sprintf("%s of %s", c.lie, c.mix), func(t *testing.T) {
			r := newRig(t)
			out, err := r.run(r.experiment(fmt.Sprintf(`
load: {mix: %s, keys: 20, key_law: uniform, requests: 4000, clients: 8, connections: 8, timeout: 60s, key_size: 16, value_size: 32}
consistency: true
consistency_sample: 5
databases: {fake: {options: {lie: %q, lie_every: 50}}}
`, c.mix, c.lie)), nil)
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			rec := r.read(out.Folders[0], 0)
			v, err := consistency.Record().Of(rec.run.Records)
			if err != nil || v.Sampled != 5 {
				t.Fatalf("the verdict is %+v, %v, want requests of 5 keys recorded", v, err)
			}
			keys, wrong := 0, 0
			for h, err := range consistency.Histories(filepath.Join(out.Folders[0], rec.run.Tag, consistency.FileHistory)) {
				if err != nil {
					t.Fatalf("read the requests: %v", err)
				}
				keys++
				got, err := recheck.Check(h, time.Minute)
				if err != nil || got == recheck.Unknown || (got == recheck.Violation) != (h.Violations > 0) || h.Until != judge.Whole || len(h.Ops) < 100 {
					t.Errorf("key %d with %d requests and %d violations: %s, %v", h.Key, len(h.Ops), h.Violations, got, err)
				}
				if got == recheck.Violation {
					wrong++
				}
			}
			if keys != 5 || wrong > 0 != c.wrong {
				t.Errorf("%d of %d keys have a violation", wrong, keys)
			}
		})
	}
}

// TestJudgedByDefault: without a setting the load is judged, and its keys read back, where that is
// possible.
func TestJudgedByDefault(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, c := range map[string]struct {
		lie  fake.Lie
		size int
		rest string
		form consistency.Form
	}{
		"an honest store": {fake.Honest, 32, "", consistency.Judged},
		"a lie":           {fake.Older, 32, "", consistency.Judged},
		"small values":    {fake.Honest, 8, "", consistency.Unjudged},
		"turned off":      {fake.Older, 32, "consistency: false", consistency.Unasked},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			out, err := r.run(r.experiment(fmt.Sprintf(`
load: {mix: {read: 50, update: 50}, keys: 20, key_law: uniform, requests: 2000, clients: 8, connections: 8, timeout: 60s, key_size: 16, value_size: %d}
%s
databases: {fake: {options: {lie: %q, lie_every: 50}}}
`, c.size, c.rest, c.lie)), nil)
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			rec := r.read(out.Folders[0], 0)
			v, err := consistency.Record().Of(rec.run.Records)
			if err != nil || v.Form != c.form || (v.Why != "") != (c.form == consistency.Unjudged) {
				t.Fatalf("the verdict is %+v, %v, want the form %q", v, err, c.form)
			}
			judged := c.form == consistency.Judged
			if (v.Counts.Judged == 2000) != judged || (v.Held != nil) != judged {
				t.Errorf("%d requests are judged, and the keys after the load are %+v", v.Counts.Judged, v.Held)
			}
			if wrong := c.lie == fake.Older && judged; wrong != hasMark(rec.run, mark.NotLinearizable) {
				t.Errorf("violations %+v, marks %+v", v.Counts.Violations, rec.run.Validity)
			}
		})
	}
}
