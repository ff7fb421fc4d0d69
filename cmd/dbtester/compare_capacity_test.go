package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/control/before/versus"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// searches writes runs that found these capacities; 0 is a run without one.
func searches(t *testing.T, name string, rates ...float64) []string {
	n := 0
	return recordedRuns(t, name, len(rates), 2*time.Millisecond, func(f *runtest.Fixture, r *results.DatabaseRun) {
		rate := rates[n]
		n++
		c := capacity.Plan{Latency: 20 * time.Millisecond, At: 99, Errors: .1, Window: 8 * time.Second, Settle: 2 * time.Second, Share: 80, Tolerance: 6, Windows: 40}
		found := capacity.Result{Plan: c, Reason: "found", Rate: rate, Low: .98 * rate, High: 1.02 * rate, Counted: 1}
		if rate == 0 {
			found.Reason = "below the least rate"
		}
		if err := capacity.Record().Set(&r.Records, found); err != nil {
			t.Fatal(err)
		}
		r.Load.Rate = .98 * rate
		window := capacity.Window{Trial: 1, Window: 1, Kind: capacity.KindSearch, Start: r.LoadStart, End: r.LoadEnd, Rate: rate, Outcome: "pass", Pass: 1}
		if err := capacity.WriteWindows(filepath.Join(f.Dir, r.Tag, capacity.File), []capacity.Window{window}); err != nil {
			t.Fatalf("write the windows: %v", err)
		}
	})
}

// TestCompareCapacity: recorded searches are compared only by their capacity.
func TestCompareCapacity(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	a, b := searches(t, "a", 20_000, 20_100, 19_900, 20_050), searches(t, "b", 18_000, 18_100, 17_900, 18_050)
	none, loads := searches(t, "none", 0), recordedRuns(t, "load", 4, 2*time.Millisecond, nil)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("write the file: %v", err)
		}
		return path
	}
	load := file("load.yaml", "hosts: [127.0.0.1]\nload: {duration: 5s}\ndatabases: {etcd: }\n")
	search := file("search.yaml", "seed: 7\nhosts: [127.0.0.1]\ncapacity: {latency: 20ms}\nload: {keys: 100}\ndatabases: {etcd: }\n")
	other := file("other.yaml", "hosts: [127.0.0.1]\ncapacity: {latency: 50ms}\nload: {keys: 100}\ndatabases: {etcd: }\n")
	sides := func(a, b []string) []string { return slices.Concat(a, []string{"--to"}, b) }
	for _, tt := range []struct {
		name, metric string
		args         []string
		code         int
		out, errs    string
	}{
		{"worse", "capacity", sides(a, b), exitWorse, "| capacity, requests/s", "B is worse than A: capacity -10"},
		{"better", "capacity", sides(b, a), exitDone, "B is better than A: capacity +11", ""},
		{"one found none", "capacity", sides(a, append(b[:3:3], none...)), exitInconclusive, "note: capacity is not known for B4 (the search ended without a capacity: below the least rate)", "It is not known"},
		{"against a load", "capacity", sides(a, loads), exitUsage, "", "no capacity was searched for in B1, B2, B3, B4"},
		{"by throughput", "throughput,p99", sides(a, b), exitUsage, "", "--metric capacity compares the capacities"},
		{"by more", "capacity,p99", sides(a, b), exitUsage, "", "metric capacity must be the only one"},
		{"a file without a search", "capacity", []string{"--config", load, "--b-version", "3.6.16"}, exitUsage, "", "load.yaml must search for a capacity"},
		{"files with other limits", "capacity", []string{"--a", search, "--b", other, "--cache", t.TempDir(), "--local"}, exitUsage, "", "capacity.latency must be the same in both files"},
		{"a file with a search", "p99", []string{"--config", search, "--b-version", "3.6.16"}, exitUsage, "", "can be compared only by the metric capacity"},
	} {
		code, out, errs := program(t, append([]string{"compare", "--metric", tt.metric}, tt.args...)...)
		if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.errs) {
			t.Errorf("%s: exit code %d, want %d with %q and %q:\n%s%s", tt.name, code, tt.code, tt.out, tt.errs, out, errs)
		}
	}
	var out bytes.Buffer
	app := &app{streams: streams{nil, &out, &out}, registry: all.Registry()}
	f := compareFlags{made: makeFlags{a: versus.Side{Name: "A", File: search}, b: versus.Side{Name: "B", File: search, Version: "3.6.16"}}}
	f.made.control.cache = t.TempDir()
	s := &compare.Session{Options: compare.Options{Metrics: []string{"capacity"}}}
	if err := (comparison{app: app, flags: &f}).prepareSides(t.Context(), s); err != nil || s.Stages != 1 || s.Seed != 7 || s.Budget.Pair != 0 {
		t.Errorf("prepare two searches: %v, %d stages, the seed %d and a pair of %v, want one stage, 7 and a pair of unknown length", err, s.Stages, s.Seed, s.Budget.Pair)
	}
}
