package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities/cause"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
)

// syncing returns the facts about a leader that syncs for ms milliseconds in each request by its
// one client, which takes 10 ms.
func syncing(ms float64) *cause.Facts {
	f := unrecorded()
	f.Response, f.Service, f.Client = run.Measured(10, 100), run.Inapplicable("a closed loop"), run.Measured(0, 100)
	f.Pending = run.Measured(1, 100)
	f.Syncing, f.Sync, f.FollowersSync, f.Trip = run.Measured(ms/10, 9), run.Measured(ms, 50), run.Measured(ms, 50), run.Measured(0, 20)
	f.Waiting, f.Used, f.Allowed, f.Processors = run.Measured(0, 9), run.Measured(0, 9), run.Measured(2, 0), run.Measured(2, 0)
	return f
}

// made returns a record for a plant, as complete adds it.
func made(t *testing.T, p plant, of store, f *cause.Facts) record {
	t.Helper()
	return record{Planted: p.key, Store: of.name, Started: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC), Version: "v1", Processors: 2, Facts: f, Experiment: p.experiment(of)}
}

func planted(t *testing.T, key string) *series {
	t.Helper()
	list, err := chosen([]string{key})
	if err != nil || len(list) != 1 {
		t.Fatalf("the plant %q: %v, %v", key, list, err)
	}
	return &series{plant: list[0]}
}

func (s *series) with(t *testing.T, n int, f *cause.Facts) *series {
	t.Helper()
	for i := range n {
		if err := s.add(made(t, s.plant, s.stores[i%len(s.stores)], f)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Every experiment is valid, and its faults last beyond the measured part.
func TestExperiments(t *testing.T) {
	for _, p := range plants() {
		for _, of := range p.stores {
			path := filepath.Join(t.TempDir(), "experiment.yaml")
			if err := os.WriteFile(path, []byte(p.experiment(of)), 0o600); err != nil {
				t.Fatal(err)
			}
			e, warnings, err := config.Read(path, all.Registry().All())
			if err != nil || len(warnings) > 0 {
				t.Errorf("%s of %s: %v %v\n%s", p.key, of.name, warnings, err, p.experiment(of))
				continue
			}
			if l := e.Databases[0].Load; l.Duration-l.WarmUp-l.CoolDown != cmp.Or(p.measured, measured) {
				t.Errorf("%s of %s measures %v, want %v", p.key, of.name, l.Duration-l.WarmUp-l.CoolDown, cmp.Or(p.measured, measured))
			}
		}
	}
	if beyond <= 0 || beyond >= behind {
		t.Errorf("faults end %v behind the measured part, and the load %v", beyond, behind)
	}
}

func TestChosen(t *testing.T) {
	if list, err := chosen([]string{"quota", "fsync"}); err != nil || len(list) != 2 {
		t.Errorf("got %v, %v, want two", list, err)
	}
	if _, err := chosen([]string{"qouta"}); err == nil || !strings.Contains(err.Error(), `causes must be of none, quota, fsync`) {
		t.Errorf("an unknown cause: %v", err)
	}
}

// Records are read as they were kept, an incomplete line is not a record, and facts an older line
// lacks are missing.
func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results", "causes.jsonl")
	if list, unread, err := readRecords(path); err != nil || len(list)+unread > 0 {
		t.Fatalf("no file has %v, %d unread, %v", list, unread, err)
	}
	s := planted(t, "fsync")
	for _, r := range []record{made(t, s.plant, etcd, syncing(9)), {Planted: "fsync", Store: "etcd", Experiment: s.experiment(etcd), Failed: "x"}} {
		if err := r.keep(path); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, `{"planted":"fsync","facts":{"Sync":{"Value":3,"Missing":""}}}`+"\n"+`{"planted":"fs`...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	list, unread, err := readRecords(path)
	if err != nil || len(list) != 3 || unread != 1 {
		t.Fatalf("got %d records, %d unread, %v, want 3 and 1", len(list), unread, err)
	}
	if v, err := list[0].judge(); err != nil || !slices.Equal(v.named, []string{"fsync"}) || len(v.partly) > 0 || v.unexplained > 15 {
		t.Errorf("the first record is judged %+v, %v", v, err)
	}
	if f := list[2].Facts; !f.Sync.Known() || f.Sync.Value != 3 || f.Syncing.Known() || f.Members.Used.Known() {
		t.Errorf("an older record has %+v", f)
	}
	for _, r := range list[:2] {
		if err := s.add(r); err != nil {
			t.Error(err)
		}
	}
	if len(s.records) != 1 || len(s.failed) != 1 || s.old != 0 {
		t.Errorf("got %d records, %q and %d old ones, want one, one failed and none", len(s.records), s.failed, s.old)
	}
	if err := list[0].keep(path); err != nil { // after a line that is cut
		t.Fatal(err)
	}
	if list, unread, err := readRecords(path); err != nil || len(list) != 4 || unread != 0 {
		t.Errorf("got %d records, %d unread, %v, want one more in place of the line that is cut", len(list), unread, err)
	}
	other := made(t, s.plant, etcd, syncing(9))
	other.Experiment += " "
	if err := s.add(other); err != nil || s.old != 1 || len(s.records) != 1 {
		t.Errorf("a record of another experiment: %v, %d old", err, s.old)
	}
}

// The missing runs are divided between the stores.
func TestMissing(t *testing.T) {
	s := planted(t, "fsync")
	names := func(n int) (text string) {
		for _, of := range s.missing(n) {
			text += of.name + " "
		}
		return text
	}
	if got := names(4); got != "etcd zookeeper consul etcd " {
		t.Errorf("of 4 all are missing, got %s", got)
	}
	s.with(t, 2, syncing(9)) // one in etcd, one in ZooKeeper
	if got := names(4); got != "consul etcd " {
		t.Errorf("of 4 two are missing, got %s", got)
	}
	if got := names(2) + names(0); got != "" {
		t.Errorf("of 2 none is missing, got %s", got)
	}
}

// One run in 20 may miss the planted name. Another name is one too many, and so are two misses,
// runs that are missing, and much that is unexplained.
func TestReport(t *testing.T) {
	named, partly, nothing := syncing(9), syncing(4), syncing(1)
	fsync := planted(t, "fsync").with(t, 19, named).with(t, 1, partly)
	none := planted(t, "none").with(t, 19, nothing).with(t, 1, named)
	unknown := planted(t, "defrag").with(t, 4, nothing)
	two := planted(t, "two").with(t, 1, named)
	var out strings.Builder
	report(&out, []*series{fsync, none, unknown, two, planted(t, "peers")}, 20)
	for _, want := range []string{
		"| 1 | fsync | 19 | 20 | 75 % | 1 | 0 | 0 | 10 % | etcd 8, zookeeper 6, consul 6 | 2026-11-27, by v1 |",
		"| 8, 200 writes/s | nothing | 19 | 20 | 75 % | 0 | 19 | 1: fsync 1 | 90 % |",
		"| nothing: no rule knows it | 4 | 4 (16 missing) | 40 % | 0 | 4 | 0 | 90 % | etcd 4 |",
		"| fsync and peers | 0 | 1 (19 missing) | 0 % | 1 | 0 | 0 |",
		"| peers | 0 | 0 (20 missing) | - | 0 | 0 | 0 | - | - | - |",
		"with 2 processors", "\n1 of 45 runs have a name that was not planted",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
	if err := judge([]*series{fsync, none}, 20); err != nil {
		t.Errorf("19 of 20 are enough, got %v", err)
	}
	// The second of two may have bounds that are too wide, but not too small a share.
	listed, small := syncing(4.2), syncing(4.2)
	listed.Trip, small.Trip = run.Measured(4.9, 20), run.Measured(2, 20)
	if err := judge([]*series{planted(t, "two").with(t, 20, listed)}, 20); err != nil {
		t.Errorf("both of two are listed, got %v", err)
	}
	for want, s := range map[string]*series{
		"18 of 20 right":                       planted(t, "fsync").with(t, 18, named).with(t, 2, partly),
		"two: 0 of 20 right":                   planted(t, "two").with(t, 20, small),
		"fsync: 0 of 20 right":                 planted(t, "fsync").with(t, 20, nothing),
		"90 % are unexplained":                 planted(t, "fsync").with(t, 20, nothing),
		"none: 18 of 20 right":                 planted(t, "none").with(t, 18, nothing).with(t, 2, named),
		"names that were not planted: fsync 1": planted(t, "defrag").with(t, 1, named),
		"19 of 20 runs are missing":            planted(t, "two").with(t, 1, named),
	} {
		if err := judge([]*series{s}, 20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("judged %v, want %q", err, want)
		}
	}
}
