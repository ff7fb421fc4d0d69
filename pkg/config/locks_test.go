package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/ability/locks"
)

// Problems with locks are reported at their place.
func TestLocksProblems(t *testing.T) {
	const one = "load: {rate: 10, duration: 60s}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n"
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"a key with another name", "locks: {contender: [2]}\n" + one, []string{
			`x.yaml:1:8: locks need contenders: how many compete for each, such as contenders: [2, 10, 100]`,
			`x.yaml:1:9: unknown key "contender" (did you mean "contenders"?)`}},
		{"no number", "locks: {contenders: [some]}\n" + one, []string{
			`x.yaml:1:22: contenders: want a whole number, got "some"`}},
		{"none", "locks: {contenders: []}\n" + one, []string{
			`x.yaml:1:21: locks: contenders must be at least one number, such as [2, 10, 100]`}},
		{"too many", "locks: {contenders: [2, 20000, 2]}\n" + one, []string{
			`x.yaml:1:21: locks: contenders must be numbers from 1 to 10000, got 20000`,
			`x.yaml:1:21: locks: contenders must be given once each, got 2 twice`}},
		{"too many together", "locks: {contenders: [200], names: 100}\n" + one, []string{
			`x.yaml:1:35: locks: at most 10000 contenders can compete at the same time, got 20000 for 100 names`}},
		{"no such recipe", "locks: {contenders: [2], recipe: libary}\n" + one, []string{
			`x.yaml:1:34: locks: etcd has no recipe "libary" (did you mean "library"?)`}},
		{"no TTL", "locks: {contenders: [2], ttl: 0s}\n" + one, []string{`x.yaml:1:31: locks: ttl must be positive, got 0s`}},
		{"a delay that the database lacks", "locks: {contenders: [2], lock_delay: 5s}\n" + one, []string{
			`x.yaml:1:38: locks: etcd has no time for which a lock is kept back after its holder's death`}},
		{"one who is elected", "locks: {contenders: [1], elect: true}\n" + one, []string{
			`x.yaml:1:21: locks: contenders must be numbers from 2 to 10000, got 1`}},
		{"no time for a death", "locks: {contenders: [2, 3], elect: true, ttl: 20s}\n" + one, []string{
			`x.yaml:1:36: locks: a lock of etcd passes up to 20s after its holder's death, which is too long for the 20s that each number of contenders gets of the load`}},
		{"held for longer than a stage", "locks: {contenders: [2], hold: 40s}\n" + one, []string{
			`x.yaml:1:32: locks: hold must be less than the 30s that each number of contenders gets of the load, got 40s`}},
		{"a load without a duration", "locks: {contenders: [2]}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			`x.yaml:1:21: locks: the load needs a duration, of which each number of contenders gets a part`}},
		{"a short load", "locks: {contenders: [2, 3]}\nload: {duration: 2s}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			`x.yaml:1:21: locks: the load must last at least 3s, so that 2 numbers of contenders, and the time before them, have 1s each`}},
		{"of a database without locks", "load: {duration: 60s}\nhosts: [10.0.0.1]\ndatabases:\n  zetcd: {locks: {contenders: [2]}}\n", []string{
			`x.yaml:4:18: locks: nobody can contend for those of zetcd: its proxy has none`}},
	} {
		_, _, err := Parse("x.yaml", []byte(test.file), testCatalog())
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Locks in a file apply to each database that has locks, with its own values and defaults.
func TestLocks(t *testing.T) {
	e, warnings, err := Parse("x.yaml", []byte(`
load: {rate: 10, duration: 60s}
locks: {contenders: [2, 10], ttl: 10s}
hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]
databases:
  etcd: {locks: {recipe: direct, ttl: 1500ms}}
  consul: {locks: {elect: true, lock_delay: 0s}}
  consul__own: {tag: own, locks: {hold: 0s}}
  zetcd:
`), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	numbers, tenth := []int{2, 10}, 10*time.Second
	want := map[string]locks.Plan{
		"etcd":        {Names: 1, Contenders: numbers, Hold: time.Millisecond, Recipe: "direct", TTL: 1500 * time.Millisecond},
		"consul":      {Names: 1, Contenders: numbers, Hold: time.Second, Recipe: "library", TTL: tenth, Delays: true, Elect: true},
		"consul__own": {Names: 1, Contenders: numbers, Recipe: "library", TTL: tenth, Delays: true, LockDelay: 15 * time.Second},
		"zetcd":       {},
	}
	for _, d := range e.Databases {
		got := locks.Keys().Of(d.Abilities)
		if diff := cmp.Diff(want[d.ID], got); diff != "" {
			t.Errorf("the locks of %s (-want +got):\n%s", d.ID, diff)
		}
		if stage := got.Stage(d.Load); got.Wanted() && stage != 20*time.Second {
			t.Errorf("a stage of %s has %v, want a third of the load's 60s", d.ID, stage)
		}
	}
	var texts []string
	for _, w := range warnings {
		texts = append(texts, w.String())
	}
	if diff := cmp.Diff([]string{
		"x.yaml:3:8: warning: locks: nobody can contend for those of zetcd: its proxy has none",
		"x.yaml:6:39: warning: locks: etcd grants TTLs of 2s and more, in steps of 1s: its sessions get 2s",
	}, texts); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
