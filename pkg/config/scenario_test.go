package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
)

const threeStores = "hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\ndatabases: {etcd: , zookeeper: , consul: }\n"

// A scenario is its expansion: the file that config show prints is the same experiment. Each
// database gets the longest TTL for which its rule keeps the promise.
func TestScenario(t *testing.T) {
	e, warnings, err := Parse("x.yaml", []byte("scenario: {name: service-discovery, instances: 100, consumers: 7, notice: 20s, deaths: 3}\n"+threeStores), testCatalog())
	if err != nil || len(warnings) > 0 {
		t.Fatalf("parse: %v, warnings %v", err, warnings)
	}
	for i, ttl := range []time.Duration{19 * time.Second, 17 * time.Second, 10 * time.Second} {
		want := discovery.Plan{
			Instances: 100, Consumers: 7, Notice: 20 * time.Second, TTL: ttl, Keep: ttl / 3, Deaths: 3, Deploys: 5, After: 18 * time.Second, Within: 47 * time.Second,
		}
		if diff := cmp.Diff(want, discovery.Keys().Of(e.Databases[i].Abilities)); diff != "" {
			t.Errorf("the plan of %s (-want +got):\n%s", e.Databases[i].ID, diff)
		}
		if l := e.Databases[i].Load; l.Duration != 90*time.Second || l.Operation != "update" || l.Rate != 20 {
			t.Errorf("the load of %s is %+v", e.Databases[i].ID, l)
		}
	}
	shown, err := Show(e)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), "scenario") || !strings.Contains(string(shown), "discovery: {instances: 100, consumers: 7, notice: 20s, ttl: 19s,") {
		t.Errorf("the experiment is shown as\n%s", shown)
	}
	again, _, err := Parse("x.yaml", shown, testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Databases {
		if diff := cmp.Diff(e.Databases[i].Abilities, again.Databases[i].Abilities); diff != "" {
			t.Errorf("%s, read again (-scenario +shown):\n%s", e.Databases[i].ID, diff)
		}
		if diff := cmp.Diff(e.Databases[i].Load, again.Databases[i].Load); diff != "" {
			t.Errorf("the load of %s, read again (-scenario +shown):\n%s", e.Databases[i].ID, diff)
		}
	}
}

// The load in the file, and keys in a database, precede the scenario's.
func TestScenarioOwnKeys(t *testing.T) {
	e, _, err := Parse("x.yaml", []byte("scenario: {name: service-discovery, ttl: 4s}\nload: {workload: ycsb-a, rate: 5, duration: 60s}\nhosts: [10.0.0.1]\ndatabases: {etcd: {discovery: {consumers: 3}}}\n"), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	d := e.Databases[0]
	p := discovery.Keys().Of(d.Abilities)
	if d.Load.Rate != 5 || d.Load.Duration != time.Minute || d.Load.Clients != 4 || p.Consumers != 3 || p.TTL != 4*time.Second || p.Instances != 200 || p.Deaths != 20 || p.Notice != 0 {
		t.Errorf("the load is %+v, the plan %+v", d.Load, p)
	}
}

// Instances register in the service registry of a database with the TTL that its rule keeps.
// Without the key they register by sessions.
func TestScenarioRegistry(t *testing.T) {
	e, _, err := Parse("x.yaml", []byte("scenario: {name: service-discovery}\nhosts: [10.0.0.1]\ndatabases:\n  consul__a: {discovery: {registry: services}}\n  consul__b: {discovery: {registry: sessions}}\n"), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []discovery.Plan{{Registry: discovery.Services, TTL: 20 * time.Second}, {TTL: 10 * time.Second}} {
		if p := discovery.Keys().Of(e.Databases[i].Abilities); p.Registry != want.Registry || p.TTL != want.TTL || p.Instances != 200 {
			t.Errorf("the plan of %s is %+v, want %+v", e.Databases[i].ID, p, want)
		}
	}
	shown, err := Show(e)
	if err != nil || strings.Count(string(shown), "registry: services") != 1 || strings.Contains(string(shown), "registry: sessions") {
		t.Errorf("the experiment is shown as\n%s%v", shown, err)
	}
}

// Wrong values are reported where the scenario gives them, and databases that cannot are named.
func TestScenarioProblems(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"no name", "scenario: {instances: 10}\n" + threeStores, []string{"x.yaml:1:11: scenario needs a name, such as name: service-discovery"}},
		{"another name", "scenario: {name: service-discovry}\n" + threeStores, []string{
			`x.yaml:1:18: scenario: name must be one of service-discovery, leader, config-push, got "service-discovry" (did you mean "service-discovery"?)`}},
		{"an unknown key", "scenario: {name: service-discovery, instance: 10}\n" + threeStores, []string{`x.yaml:1:37: unknown key "instance" (did you mean "instances"?)`}},
		{"no number", "scenario: {name: service-discovery, instances: many}\n" + threeStores, []string{`x.yaml:1:48: instances: want a whole number, got "many"`}},
		{"twice", "scenario: {name: service-discovery}\ndiscovery: {instances: 5, ttl: 10s}\nload: {duration: 60s}\n" + threeStores, []string{
			"x.yaml:2:1: the scenario service-discovery stands for discovery: give its keys in the scenario, or leave the scenario out"}},
		{"a database without sessions", "scenario: {name: service-discovery}\nhosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\ndatabases: {etcd: , zetcd: }\n", []string{
			"x.yaml:1:11: discovery: instances cannot register in zetcd: the proxy renews by itself"}},
		{"a database without services", "scenario: {name: service-discovery, registry: services}\n" + threeStores, []string{
			"x.yaml:1:47: discovery: instances cannot register in etcd: it has no registry of services",
			"x.yaml:1:47: discovery: instances cannot register in zookeeper: it has no registry of services"}},
		{"one of a database's own", "hosts: [10.0.0.1]\nload: {duration: 60s}\ndatabases: {cetcd: {discovery: {instances: 3, ttl: 3s}}}\n", []string{
			"x.yaml:3:32: discovery: instances cannot register in cetcd: it has no sessions"}},
		{"more changes than instances", "scenario: {name: service-discovery, instances: 4, deaths: 3, deploys: 2}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:59: discovery: an instance dies or is deployed once: deaths and deploys must be at most the 4 instances together, got 3 and 2"}},
		{"a load that is too short", "scenario: {name: service-discovery}\nload: {duration: 20s}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:11: discovery: the load must last for 30s (after 4s, 1s in which instances die, and 25s until the last death is known), it lasts 20s"}},
		{"no promise", "discovery: {instances: 5}\nload: {duration: 60s}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:12: discovery needs notice, the time in which all consumers are to know of a death, such as notice: 20s, or the ttl of the sessions"}},
		{"elections of services", "scenario: {name: leader, registry: services}\nhosts: [10.0.0.1]\ndatabases: {consul: }\n", []string{
			"x.yaml:1:11: discovery: instances in consul cannot elect a leader: no key is for one service alone"}},
		{"elections beside deaths", "scenario: {name: leader, elections: 2, deaths: 1}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:37: discovery: in elections the leader alone dies: leave out deaths and deploys, got 1 and 0"}},
		{"more elections than leaders", "scenario: {name: leader, instances: 2, elections: 2}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:51: discovery: a leader dies in each election: elections must be from 0 to less than the 2 instances, got 2"}},
		{"more elections than can be recorded", "scenario: {name: leader, instances: 9000, consumers: 9000, elections: 8000}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:71: discovery: all consumers together may notice at most 10000000 changes, got 0 deaths, 0 deploys and 8000 elections with 9000 consumers"}},
		{"elections that are too fast", "scenario: {name: leader}\nload: {duration: 60s}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:11: discovery: 6.9s is too short for each of 3 elections, as the leader's session ends up to 20s after its last renewal: give the load a longer duration"}},
		{"elections that are too fast for a key that is refused", "scenario: {name: leader, elections: 1}\nload: {duration: 60s}\nhosts: [10.0.0.1]\ndatabases: {etcd: , consul: }\n", []string{
			"x.yaml:1:37: discovery: 20.7s is too short for each of 1 elections, as the leader's session ends up to 20s after its last renewal, and its key is refused for 15s then: give the load a longer duration"}},
		{"a renewal that is too late", "discovery: {instances: 5, ttl: 3s, keep: 3s}\nload: {duration: 60s}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:42: discovery: keep must be positive and less than the ttl of 3s, got 3s"}},
		{"no duration", "discovery: {instances: 5, ttl: 3s}\nload: {requests: 100}\nhosts: [10.0.0.1]\ndatabases: {etcd: }\n", []string{
			"x.yaml:1:24: discovery: instances die in a part of the load's duration: give the load a duration and neither requests nor steps"}},
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

// A promise that a database cannot keep is a warning, and it gets the shortest TTL.
func TestScenarioPromise(t *testing.T) {
	e, warnings, err := Parse("x.yaml", []byte("scenario: {name: service-discovery, notice: 15s}\n"+threeStores), testCatalog())
	const want = "x.yaml:1:45: warning: discovery: consul cannot promise that a death is known within 15s: its shortest TTL is 10s, and a session ends up to 20s after its last renewal"
	if err != nil || len(warnings) != 1 || warnings[0].String() != want {
		t.Fatalf("%v, warnings %v; want %q", err, warnings, want)
	}
	for i, ttl := range []time.Duration{14 * time.Second, 12 * time.Second, 10 * time.Second} {
		if got := discovery.Keys().Of(e.Databases[i].Abilities).TTL; got != ttl {
			t.Errorf("%s gets a TTL of %v, want %v", e.Databases[i].ID, got, ttl)
		}
	}
}

// The page on scenarios has a scenario and what it stands for: both are the same experiment.
func TestScenarioDoc(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "scenarios.md"))
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	if len(blocks) != 7 {
		t.Fatalf("the page has %d examples, want three scenarios, each before what it stands for, and databases", len(blocks))
	}
	if _, _, err := Parse("x.yaml", []byte("hosts: [10.0.0.1]\n"+strings.Split(blocks[2], "```")[0]), testCatalog()); err != nil {
		t.Errorf("the databases of the page: %v", err)
	}
	parsed := func(block string) *Experiment {
		text, _, _ := strings.Cut(block, "```")
		e, _, err := Parse("x.yaml", []byte(text+threeStores), testCatalog())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return e
	}
	for _, pair := range [][]string{blocks[:2], blocks[3:5], blocks[5:]} {
		scenario, stands := parsed(pair[0]), parsed(pair[1])
		for i, d := range scenario.Databases {
			other := stands.Databases[i]
			if diff := cmp.Diff(d.Abilities, other.Abilities) + cmp.Diff(d.Load, other.Load); diff != "" {
				t.Errorf("%s (-scenario +what it stands for):\n%s", d.ID, diff)
			}
		}
	}
}

// Watchers of a configuration need its values: each database uses its first watch kind whose events
// have values, unless the file names a kind.
func TestScenarioConfigPush(t *testing.T) {
	e, warnings, err := Parse("x.yaml", []byte("scenario: {name: config-push, watchers: [10, 50]}\nload: {duration: 20s}\n"+threeStores), testCatalog())
	if err != nil || len(warnings) > 0 {
		t.Fatalf("parse: %v, warnings %v", err, warnings)
	}
	for i, kind := range []database.WatchKind{database.WatchStream, database.WatchOneShot, database.WatchBlocking} {
		d := e.Databases[i]
		want := watchers.Plan{Watchers: []int{10, 50}, Connections: 50, Of: watchers.Key, Kind: kind, Values: true}
		if diff := cmp.Diff(want, watchers.Keys().Of(d.Abilities)); diff != "" || d.Load.Keys != 1 || d.Load.Rate != 2 || d.Load.Duration != 20*time.Second {
			t.Errorf("the load of %s is %+v, and its watchers (-want +got):\n%s", d.ID, d.Load, diff)
		}
	}
	shown, err := Show(e)
	if err != nil || strings.Contains(string(shown), "scenario") || !strings.Contains(string(shown), "values: true") {
		t.Errorf("the experiment is shown as\n%s%v", shown, err)
	}
	_, _, err = Parse("x.yaml", []byte("scenario: {name: config-push}\nhosts: [10.0.0.1]\ndatabases: {zookeeper: {watch: {kind: persistent, values: true}}}\n"), testCatalog())
	if want := "x.yaml:3:59: watch: events of persistent watches of zookeeper have no values"; err == nil || err.Error() != want {
		t.Errorf("a kind without values: %v, want %s", err, want)
	}
}
