package config

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// TestDeclarations reads every default as a file would give it: a default that does
// not parse panics.
func TestDeclarations(t *testing.T) {
	file := fileSection(testCatalog())
	f := file.Filled(file.None())
	if f.Trials != 1 || f.Settle != 5*time.Second || f.Seed != 1 || f.agentPort != 3500 {
		t.Errorf("defaults of a file: %+v", f.Experiment)
	}
	load := loadSection(testCatalog())
	l := load.Filled(load.None())
	want := workload.Load{
		Content:  workload.Content{Operation: "write"},
		Keyspace: workload.Keyspace{Keys: 1000, KeyLaw: "uniform"},
		Extent:   workload.Extent{Requests: 100_000, Clients: 100},
		Pace:     workload.Pace{Arrival: "constant", Backlog: "keep"},
		Sizing:   workload.Sizing{KeySize: 256, ValueSize: 1024, RangeLimit: 100},
		Limits:   workload.Limits{Timeout: 10 * time.Second},
		Route:    workload.Route{Target: "all"},
	}
	if l.Operation != want.Operation || l.Timeout != want.Timeout || l.KeySize != want.KeySize || l.RangeLimit != want.RangeLimit ||
		l.Backlog != want.Backlog || l.Keys != want.Keys || l.Clients != want.Clients || l.Target != want.Target {
		t.Errorf("defaults of a load: %+v, want %+v", l.Load, want)
	}
	for _, table := range Tables(testCatalog()) {
		if table.Text == "" {
			t.Errorf("%s: the table is empty", table.Heading)
		}
	}
}

// TestUndeclaredKey requests an undeclared key: a misspelled name in a check must not look
// like a key that the file does not give.
func TestUndeclaredKey(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a key that is not declared was looked up without a panic")
		}
	}()
	w := loadSection(testCatalog()).None()
	w.Has("tiemout")
}

// TestPlace looks up where values are.
func TestPlace(t *testing.T) {
	e := parse(t, "hosts: [a]\nload: {rate: 5, value_size: 100-200, clients: [1, 2]}\ndatabases:\n  etcd: {load: {rate: 7}, steps: {upload: false}}\n  consul:\n")
	for path, want := range map[string]string{
		"hosts":                       "dir/some-test.yaml:1:8",
		"load.rate":                   "dir/some-test.yaml:2:14",
		"load.value_size":             "dir/some-test.yaml:2:29",
		"load.clients":                "dir/some-test.yaml:2:47",
		"databases.etcd.load.rate":    "dir/some-test.yaml:4:23",
		"databases.etcd.steps.upload": "dir/some-test.yaml:4:43",
		"databases.consul.load.rate":  "",
		"load.timeout":                "",
	} {
		if got := e.Place(path); got != want {
			t.Errorf("%s is at %q, want %q", path, got, want)
		}
	}
	c, _, err := Parse("c.yaml", []byte(classicFileForTest), testCatalog())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	if got := c.Place("databases.zookeeper__r3_4_9.steps.upload"); got != "c.yaml:46:71" {
		t.Errorf("the classic upload step is at %q, want c.yaml:46:71", got)
	}
	if got := c.Place("steps.upload"); got != "" {
		t.Errorf("a classic file has no steps of all databases, but one is at %q", got)
	}
}
