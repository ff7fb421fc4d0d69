package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
)

// A database without watches cannot have watchers, which is a warning if the file asks for all
// databases.
func TestNoWatches(t *testing.T) {
	catalog := testCatalog()
	i := slices.IndexFunc(catalog, func(d database.Database) bool { return d.Name == "zetcd" })
	catalog[i].New = func() database.Driver { return &bareOptions{} }
	catalog[i].Info.Watches, catalog[i].Info.NoWatches = nil, "its events name nothing"
	const load = "load: {operation: update, keys: 10, rate: 10, duration: 10s, clients: 2, value_size: 64}\nhosts: [10.0.0.1]\n"
	_, _, err := Parse("x.yaml", []byte(load+"databases:\n  zetcd: {watch: {watchers: 1}}\n"), catalog)
	if want := "x.yaml:4:18: watch: keys of zetcd cannot be watched: its events name nothing"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, warnings, err := Parse("x.yaml", []byte(load+"watch: {watchers: 1}\ndatabases: {etcd: , zetcd: }\n"), catalog)
	if want := "x.yaml:3:8: warning: watch: keys of zetcd cannot be watched: its events name nothing"; err != nil || len(warnings) != 1 || warnings[0].String() != want {
		t.Errorf("error %v, warnings %v, want %s", err, warnings, want)
	}
}

// Impossible watchers, and loads that cannot be watched, are named at their place.
func TestWatchersProblems(t *testing.T) {
	const load = "load: {operation: update, keys: 10, rate: 10, duration: 10s, clients: 2, value_size: 64}\n"
	const three = load + "hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\ndatabases: {etcd: , zookeeper: , consul: }\n"
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"a number", "watch: {watchers: 10}\n" + three, nil},
		{"stages", "watch: {watchers: [0, 1, 10], of: key, connections: 5}\n" + three, nil},
		{"a key with another name", "watch: {watcher: 10}\n" + three, []string{
			`x.yaml:1:8: watch needs watchers: how many there are, such as watchers: 100`, `x.yaml:1:9: unknown key "watcher" (did you mean "watchers"?)`}},
		{"too many", "watch: {watchers: 300000}\n" + three, []string{`x.yaml:1:19: watch: watchers must be from 1 to 100000, got [300000]`}},
		{"none", "watch: {watchers: [0]}\n" + three, []string{`x.yaml:1:19: watch: watchers must be from 1 to 100000, got [0]`}},
		{"no stages, and slow ones", "watch: {watchers: [], slow: {share: 1%, pause: 2s}}\n" + three, []string{`x.yaml:1:19: watch: watchers must be from 1 to 100000, got []`}},
		{"no stages, and new connections", "watch: {watchers: [], reconnect: 2s}\n" + load + "hosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{`x.yaml:1:19: watch: watchers must be from 1 to 100000, got []`}},
		{"falling", "watch: {watchers: [10, 1]}\n" + three, []string{`x.yaml:1:19: watch: watchers must rise from stage to stage, got 1 after 10`}},
		{"a word for a number", "watch: {watchers: all}\n" + three, []string{`x.yaml:1:19: watchers: want a whole number, got "all"`}},
		{"a kind of none", "watch: {watchers: 1, kind: streams}\n" + three, []string{`x.yaml:1:28: kind: unknown value "streams" (did you mean "stream"?)`}},
		{"a kind of another database", load + "hosts: [10.0.0.1]\ndatabases:\n  etcd: {watch: {watchers: 1, kind: blocking}}\n", []string{
			`x.yaml:4:37: watch: etcd has no watches of the kind blocking; it has stream`}},
		{"one-shot watches of all keys", load + "hosts: [10.0.0.1]\ndatabases:\n  zookeeper: {watch: {watchers: 1, kind: one-shot}}\n", []string{
			"x.yaml:4:22: watch: one-shot watches of zookeeper are of one key: give `of: key`"}},
		{"a load that reads", "load: {operation: read, keys: 10, rate: 10, duration: 10s, clients: 2}\nhosts: [10.0.0.1]\nwatch: {watchers: 1}\ndatabases: {etcd: }\n", []string{
			`x.yaml:3:19: watch: the load must write, got read`}},
		{"a load that deletes", "load: {mix: {update: 1, delete: 1}, keys: 10, rate: 10, duration: 10s, clients: 2}\nhosts: [10.0.0.1]\nwatch: {watchers: 1}\ndatabases: {etcd: }\n", []string{
			`x.yaml:3:19: watch: writes must be write, update or swap, whose values name them, got 50 % update, 50 % delete`}},
		{"small values", "load: {operation: update, keys: 10, rate: 10, duration: 10s, clients: 2, value_size: 8}\nhosts: [10.0.0.1]\nwatch: {watchers: 1}\ndatabases: {etcd: }\n", []string{
			`x.yaml:3:19: watch: values must have at least 16 bytes to name the requests that wrote them, got 8`}},
		{"stages of requests", "load: {operation: update, keys: 10, requests: 1000, clients: 2, value_size: 64}\nhosts: [10.0.0.1]\nwatch: {watchers: [1, 2]}\ndatabases: {etcd: }\n", []string{
			`x.yaml:3:19: watch: stages are equal parts of a load's duration: give the load a duration and neither requests nor steps, or one number of watchers`}},
		{"keys that are not there", "load: {operation: write, requests: 1000, clients: 2, value_size: 64}\nhosts: [10.0.0.1]\nwatch: {watchers: 1, of: key}\ndatabases: {etcd: }\n", []string{
			"x.yaml:3:26: watch: `of: key` needs keys that are there before the load, as those of update"}},
		{"slow ones", "watch: {watchers: [5, 10], slow: {share: 1%, pause: 2s}}\n" + three, nil},
		{"slow ones for long", "watch: {watchers: [5, 10], slow: {share: 1%, pause: 3s}}\n" + three, []string{
			"x.yaml:1:34: watch: the pause of slow watchers must be at most half of a stage of 5s, so that they can catch up, got 3s"}},
		{"slow ones without a pause", "watch: {watchers: 5, slow: {share: 1%}}\n" + three, []string{
			"x.yaml:1:28: watch: the pause of slow watchers must be more than 0s and at most 10s, got 0s"}},
		{"most slow", "watch: {watchers: 5, slow: {share: 60%, pause: 2s}}\n" + three, []string{
			"x.yaml:1:28: watch: the share of slow watchers must be more than 0% and at most 50%, got 60%"}},
		{"new connections", load + "hosts: [10.0.0.1]\nwatch: {watchers: [5, 10], reconnect: 2s}\ndatabases: {etcd: , consul: }\n", nil},
		{"new connections where watches begin anew", load + "hosts: [10.0.0.1]\nwatch: {watchers: 5, reconnect: 2s}\ndatabases: {etcd: , zookeeper: }\n", []string{
			"x.yaml:3:33: watch: persistent watches of zookeeper cannot continue over new connections: sessions are new"}},
		{"new connections all the time", "watch: {watchers: 5, reconnect: 500ms}\n" + load + "hosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:33: watch: reconnect must be from 1s to half of a stage of 10s, got 500ms"}},
		{"new connections once", "watch: {watchers: [5, 6], reconnect: 3s}\n" + load + "hosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:38: watch: reconnect must be from 1s to half of a stage of 5s, got 3s"}},
		{"new connections in requests", "load: {operation: update, keys: 10, requests: 1000, clients: 2, value_size: 64}\nhosts: [10.0.0.1]\nwatch: {watchers: 1, reconnect: 2s}\ndatabases: {etcd: }\n", []string{
			"x.yaml:3:33: watch: connections are opened again in parts of a load's duration: give the load a duration and neither requests nor steps"}},
		{"a part", load + "hosts: [10.0.0.1]\ndatabases:\n  etcd: {watch: {watchers: 5, of: 12.5%}}\n", nil},
		{"a part where only all can be watched", load + "hosts: [10.0.0.1]\nwatch: {watchers: 5, of: 10%}\ndatabases: {zookeeper: }\n", []string{
			"x.yaml:3:26: watch: persistent watches of zookeeper are not of a part of the keys: znodes are flat; give `of: key` or `of: all`"}},
		{"all as a share", load + "hosts: [10.0.0.1]\nwatch: {watchers: 5, of: 100%}\ndatabases: {etcd: }\n", []string{
			"x.yaml:3:26: watch: a share of the keys must be more than 0% and less than 100%, got 100%; `of: all` is all of them"}},
		{"a share without its sign", load + "hosts: [10.0.0.1]\nwatch: {watchers: 5, of: 10}\ndatabases: {etcd: }\n", []string{
			"x.yaml:3:26: of: 10 has no % (did you mean 10%?)"}},
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
