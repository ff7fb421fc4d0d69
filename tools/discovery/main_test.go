package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

// attempts is the number of times a run may be spoiled when this machine stalls, after which leases
// end whose renewals came too late.
const attempts = 3

// patience is a time that only programs which wait for ever need.
const patience = 5 * time.Minute

// A short form of the comparison, with etcd members: the prober sees each death through every
// member, the parts add up, and no living instance is declared dead. Times that depend on a busy
// machine are compared in the long form.
func TestEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("runs dbtester for a quarter of a minute")
	}
	program, err := experiment.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range attempts {
		var out, progress strings.Builder
		err = discovery(t.Context(), []string{"-dbtester", program, "-only", "etcd", "-n", "10", "-notice", "5s", "-within", "3s", "-tolerance", "10m"}, &out, &progress)
		t.Logf("%s%s", progress.String(), out.String())
		if err == nil && !strings.Contains(out.String(), "| etcd | 10 | 10 |") {
			t.Fatal("the table lacks the ten deaths")
		}
		if err == nil {
			return
		}
	}
	t.Error(err)
}

// control simulates a run that ends after runs in four folders have begun. The run on ZooKeeper
// fails.
const control = `#!/bin/sh
mkdir -p "$6/title/run" && : >"$6/../../begun.$$"
until [ "$(ls -d "$6"/../../begun.* | wc -l)" = 4 ]; do sleep 0.01; done
if grep -q zookeeper "$4"; then echo "no java" >&2; exit 1; fi
cat >"$6/title/run/manifest.json" <<'END'
` + manifest + `
END
`

// Instances are kept alive in all stores at once, each with its own addresses, and one that fails
// is named after the table for the others.
func TestAtOnce(t *testing.T) {
	networks := map[string]bool{}
	for _, s := range stores() {
		networks[s.network] = true
	}
	if len(networks) != 4 {
		t.Errorf("the stores have the networks %v, want four", networks)
	}
	program := filepath.Join(t.TempDir(), "control")
	if err := os.WriteFile(program, []byte(control), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, progress strings.Builder
	err := discovery(ctx, []string{"-dbtester", program, "-alive", "1s", "-n", "4"}, &out, &progress)
	if err == nil || !strings.Contains(err.Error(), "zookeeper: exit status 1: no java") {
		t.Errorf("error %v, want that of zookeeper", err)
	}
	for _, want := range []string{"All 4 ran at once", "\n| etcd | 9 |", "\n| consul | 9 |", "\n| consul-services | 9 |", "\n**zookeeper** has no row, because a run failed: exit status 1: no java\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\n| zookeeper |") || !strings.Contains(progress.String(), "zookeeper: failed\n") {
		t.Errorf("zookeeper did not fail:\n%s%s", progress.String(), out.String())
	}
}

func at(seconds float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(seconds * 1e9)) }

const manifest = `{"databases": [{"tag": "it", "load_end": "1970-01-01T00:17:10Z", "discovered": {"began": "1970-01-01T00:16:40Z", "registered": 9, "missed": 1, "keeps": {"n": 70, "p99_ns": 2000000, "max_ns": 5000000}, "keeps_lost": 6, "keeps_late": 7, "changes": [
{"kind": "death", "instance": 1, "at_ns": 1000000000, "all": true, "whole_ns": 5005000000, "left_ns": 4000000000, "late_ns": 1000000000, "fan_out_ns": 5000000},
{"kind": "death", "instance": 2, "at_ns": 2000000000, "all": true, "whole_ns": 5000000000, "left_ns": 4000000000, "late_ns": 997000000, "fan_out_ns": 1000000},
{"kind": "death", "instance": 3, "at_ns": 3000000000},
{"kind": "death", "instance": 6, "at_ns": 3000000000, "all": true, "whole_ns": 5000000000, "left_ns": 4000000000, "late_ns": 1000000000},
{"kind": "deploy", "instance": 4, "at_ns": 3000000000, "all": true, "whole_ns": 6000000, "again_ns": 2000000, "fan_out_ns": 4000000}]}}]}`

// sightOf returns what a watch observed.
func sightOf(gone map[registration]time.Time) *sight { return &sight{gone: gone} }

// Deaths are compared with the first and last prober watch, the parts of changes with the whole,
// and when registrations ended with when their instances died.
func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.json")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	o := options{tolerance: 10 * time.Millisecond}
	v := compare("a", o, r, []*sight{
		sightOf(map[registration]time.Time{{1, 0}: at(5.998), {2, 0}: at(7.001), {6, 0}: at(7.990), {4, 0}: at(3.001), {5, 0}: at(12), {4, 1}: at(31)}),
		sightOf(map[registration]time.Time{{1, 0}: at(6.001), {2, 0}: at(6.985), {3, 0}: at(9), {6, 0}: at(8.020), {4, 0}: at(3.002), {4, 1}: at(13), {7, 0}: at(31)}),
	})
	n, most := v.agree()
	if n != 1 || most != 20*time.Millisecond || len(v.deaths) != 4 || v.deaths[0].first != 2*time.Millisecond || v.deaths[0].last != 4*time.Millisecond {
		t.Errorf("%d of %+v agree, the largest difference is %v", n, v.deaths, most)
	}
	if v.changes != 4 || v.added != 3 || v.outside != 2 || v.unrenewed != 1 {
		t.Errorf("the parts of %d of %d changes add up, %d were declared dead by the prober, %d not renewed; want 3 of 4, 2 and 1", v.added, v.changes, v.outside, v.unrenewed)
	}
	var all verdict
	for range 2 {
		all.add(v)
	}
	if len(all.deaths) != 8 || all.changes != 8 || all.added != 6 || all.outside != 4 || all.unrenewed != 2 {
		t.Errorf("two runs are %+v, want twice of all", all)
	}
	var out strings.Builder
	report(&out, "idle", o, []verdict{v})
	for _, want := range []string{"| a | 4 | 1 | 20.0 | 3 of 4 | 0 | 1 | 2 | 0 |", "| a | 1 | 5.005 | +2.0 | +4.0 |", "| a | 3 | not known to all | |  |", "**apart**"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables have no %q:\n%s", want, out.String())
		}
	}
	if err := v.err(o); err == nil || strings.Count(err.Error(), "a: ") != 4 {
		t.Errorf("errors %v, want four", err)
	}
	// For instances that are to be kept alive death times do not count, and renewals do.
	o.alive, o.deaths, o.living = time.Minute, 4, 9
	if err := v.err(o); err == nil || strings.Contains(err.Error(), "agree") || !strings.Contains(err.Error(), "1 living instances were not renewed") {
		t.Errorf("errors %v, want one of renewals and none of times", err)
	}
	out.Reset()
	if reportAlive(&out, "idle", o, 1, []verdict{v}); !strings.Contains(out.String(), "\n| a | 9 | 0 | 1 | 2 | 3 of 4 | 70 | 2.0 | 5.0 | 6 | 7 |\n") {
		t.Errorf("the table of living instances is\n%s", out.String())
	}
	if _, err := read(filepath.Join(t.TempDir(), "manifest.json")); err == nil {
		t.Error("a manifest that is not there was read")
	}
}

// The first list without a key in the previous list shows when the key was gone. Other names are
// ignored.
func TestSight(t *testing.T) {
	s := sightOf(map[registration]time.Time{})
	for i, keys := range [][]string{{"x-1-0", "x-2-0", "other"}, {"x-2-0", "x-1-1"}, {"x-1-0", "x-2-0"}, nil} {
		s.list(keys, at(float64(i)))
	}
	want := map[registration]time.Time{{1, 0}: at(1), {1, 1}: at(2), {2, 0}: at(3)}
	if len(s.gone) != len(want) {
		t.Fatalf("gone are %v, want %v", s.gone, want)
	}
	for r, when := range want {
		if !s.gone[r].Equal(when) {
			t.Errorf("%+v was gone at %v, want %v", r, s.gone[r], when)
		}
	}
}
