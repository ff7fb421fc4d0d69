package control

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestCapacity searches for a cluster's capacity in short windows, from this process and from
// generators. A busy machine may end the search in any way, so the test checks the records, not the
// rate.
func TestCapacity(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, n := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d generators", n), func(t *testing.T) {
			t.Parallel()
			r, key := newRig(t), ""
			if n > 0 {
				key = r.generate(n, true)
			}
			searchCapacity(t, r, key, n)
		})
	}
}

func searchCapacity(t *testing.T, r *rig, key string, n int) {
	e := r.experiment(key + `load: {clients: 30, key_size: 32, value_size: 64, timeout: 2s, rate: 300, keys: 50}
capacity: {latency: 40ms, at: p90, window: 100ms, settle: 50ms, tolerance: 50%, windows: 12, hold: 200ms}
databases: {fake: {options: {delay: 1ms}}}
`)
	out, err := r.inTime(usualLead/8, func() (*Outcome, error) { // each window waits for the lead
		return r.run(e, func(u Update) {
			if c := capacity.Of(e.Abilities); u.Load != nil && (u.Duration != c.Longest(u.Load.Step.Rate) || u.Total != 0) {
				t.Errorf("the load takes %v and %d requests, want that of the whole search, %v", u.Duration, u.Total, c.Longest(u.Load.Step.Rate))
			}
		})
	})
	if err != nil {
		t.Fatalf("run the experiment: %v", err)
	}
	r.mustBeIdle()
	rec := r.read(out.Folders[0], 0)
	c, err := capacity.Record().Of(rec.run.Records)
	if err != nil || c.Reason == "" || c.Reason == "searching" {
		t.Fatalf("the search did not finish: %+v", c)
	}
	rows, err := capacity.ReadWindows(filepath.Join(rec.dir, capacity.File))
	if err != nil || len(rows) < 3 {
		t.Fatalf("%d windows, want at least 3: %v", len(rows), err)
	}
	counted := 0
	for i, w := range rows {
		if w.Window != i+1 || w.Trial != 1 || w.Rate <= 0 || !w.End.After(w.Start) || w.Over > w.Due {
			t.Errorf("window %d is %+v", i+1, w)
		}
		if w.Kind == capacity.KindSearch && w.Void == 0 {
			counted++
		}
	}
	if counted != c.Counted {
		t.Errorf("%d windows of the search count by capacity.csv, %d by the manifest", counted, c.Counted)
	}
	last := rows[len(rows)-1]
	if len(rec.run.Steps) != 1 || rec.run.Steps[0].Rate != last.Rate || rec.run.Load.Rate != last.Rate || last.Kind == capacity.KindSearch {
		t.Errorf("the records are of %+v with the rate %v, want the last window, %+v", rec.run.Steps, rec.run.Load.Rate, last)
	}
	if l := rec.run.Lateness; n == 0 && rec.run.Totals.Sent > 0 && (l == nil || l.N != rec.run.Totals.Sent) {
		t.Errorf("the lateness is %+v, want that of the %d requests of the last window", l, rec.run.Totals.Sent)
	}
	checkSearched(t, rec, n)
	for _, name := range load.FileNames() {
		path := filepath.Join(rec.dir, capacity.Dir, name)
		if found, _ := filepath.Glob(path); len(found) != 1 && name != results.FileErrors {
			t.Errorf("%s of the windows is missing", name)
		}
	}
	if c.Voided == 0 && c.Reason == "client-limited" != slices.Contains(rec.marks(), "!"+mark.Capacity) {
		t.Errorf("the marks are %q, the search ended by %s", rec.marks(), c.Reason)
	}
}

// checkSearched checks that the generator records are about the last window.
func checkSearched(t *testing.T, rec record, n int) {
	t.Helper()
	if len(rec.run.Generators) != n {
		t.Fatalf("%d generators are on record, want %d", len(rec.run.Generators), n)
	}
	var sum results.Totals
	clients := 0
	for i, g := range rec.run.Generators {
		if g.Lost != "" || g.Totals == nil || len(g.Steps) != 1 {
			t.Fatalf("generator %d: lost %q, totals %+v, steps %+v; want one step", i+1, g.Lost, g.Totals, g.Steps)
		}
		if g.Totals.Sent > 0 && (g.Lateness == nil || g.Lateness.N != g.Totals.Sent) {
			t.Errorf("generator %d: the lateness is %+v, want that of its %d requests of the last window", i+1, g.Lateness, g.Totals.Sent)
		}
		sum = sum.Minus(results.Totals{}.Minus(*g.Totals))
		clients += g.Steps[0].Clients
	}
	if n > 0 && (sum != *rec.run.Totals || clients != rec.run.Steps[0].Clients || !sum.Reconcile()) {
		t.Errorf("parts of %+v by %d clients, want together %+v by %d", sum, clients, *rec.run.Totals, rec.run.Steps[0].Clients)
	}
	if g := rec.run.Steps[0].LargestGap; g == nil || g.Length() <= 0 {
		t.Errorf("the longest gap of the last window is %+v, want one", g)
	}
}
