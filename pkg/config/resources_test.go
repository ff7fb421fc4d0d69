package config

import (
	"strings"
	"testing"
	"time"

	declared "github.com/coreos/dbtester/pkg/ability/resources"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// limitsOf returns the resource limits for a database.
func limitsOf(d Database) resources.Limits { return declared.Keys().Of(d.Abilities) }

func TestResources(t *testing.T) {
	const period = 100 * time.Millisecond
	for _, tc := range []struct {
		name, text string
		want       resources.Limits
		problem    string
	}{
		{"none", "hosts: [a]\ndatabases: {etcd: }\n", resources.Limits{}, ""},
		{"both", "resources: {cpus: 0.25, memory: 2GiB}\nhosts: [a]\ndatabases: {etcd: }\n", resources.Limits{CPUs: 0.25, Period: period, MemoryBytes: 2 << 30}, ""},
		{"memory alone", "resources: {memory: 2GB}\nhosts: [a]\ndatabases: {etcd: }\n", resources.Limits{MemoryBytes: 2e9}, ""},
		{"key by key", "resources: {cpus: 1, memory: 2GiB}\nhosts: [a]\ndatabases: {etcd: {resources: {cpus: 2, period: 10ms}}}\n",
			resources.Limits{CPUs: 2, Period: 10 * time.Millisecond, MemoryBytes: 2 << 30}, ""},
		{"lifted", "resources: {cpus: 1, memory: 2GiB}\nhosts: [a]\ndatabases: {etcd: {resources: {cpus: 0, memory: 0}}}\n", resources.Limits{}, ""},
		{"a cluster of others", "resources: {cpus: 1}\ndatabases: {etcd: {endpoints: ['a:1']}}\n", resources.Limits{}, ""},
		{"asked for there", "databases: {etcd: {endpoints: ['a:1'], resources: {cpus: 1}}}\n", resources.Limits{},
			"test.yaml:1:51: resources: endpoints (line 1) are of a cluster that is already running"},
		{"too little time", "resources: {cpus: 0.001}\nhosts: [a]\ndatabases: {etcd: }\n", resources.Limits{},
			"test.yaml:1:19: resources: cpus must give at least 1ms of processor time in a period of 100ms, got 0.001"},
		{"too long a period", "resources: {cpus: 1, period: 2s}\nhosts: [a]\ndatabases: {etcd: }\n", resources.Limits{}, "test.yaml:1:30: resources: period must be from 1ms to 1s"},
		{"together too little", "resources: {cpus: 0.05}\nhosts: [a]\ndatabases: {etcd: {resources: {period: 10ms}}}\n", resources.Limits{}, "resources: cpus must give at least 1ms"},
		{"too little memory", "resources: {memory: 1MiB}\nhosts: [a]\ndatabases: {etcd: }\n", resources.Limits{}, "test.yaml:1:21: resources: memory must be at least 16 MiB"},
		{"a typing error", "resources: {cpu: 1}\nhosts: [a]\ndatabases: {etcd: }\n", resources.Limits{}, `did you mean "cpus"?`},
		{"a heap that can't fit", "resources: {memory: 2GiB}\nhosts: [a]\ndatabases:\n  zookeeper:\n    options:\n      java_xmx: 9G\n", resources.Limits{},
			"test.yaml:6:17: options of zookeeper: java_xmx must fit, got 9G"},
		{"no room for a heap", "resources: {memory: 32MiB}\nhosts: [a]\ndatabases: {zookeeper: }\n", resources.Limits{}, "test.yaml:1:21: resources of zookeeper: memory is too little"},
	} {
		e, _, err := Parse("test.yaml", []byte(tc.text), testCatalog())
		switch {
		case tc.problem != "":
			if err == nil || !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("%s: want %q, got %v", tc.name, tc.problem, err)
			} else if n := strings.Count(err.Error(), "test.yaml:"); n != 1 {
				t.Errorf("%s: want one problem, got %v", tc.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case limitsOf(e.Databases[0]) != tc.want:
			t.Errorf("%s: %+v, want %+v", tc.name, limitsOf(e.Databases[0]), tc.want)
		}
	}
}

// Options that the file does not give follow from the memory, and stay when the experiment
// is shown and read again.
func TestResourcesShown(t *testing.T) {
	const text = "title: x\nresources: {cpus: 0.5, memory: 2GiB, period: 20ms}\nhosts: [a]\ndatabases:\n  zookeeper__a:\n  zookeeper__b: {options: {java_xmx: 3G}}\n  etcd: {resources: {cpus: 0}}\n"
	e, _, err := Parse("test.yaml", []byte(text), testCatalog())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	for i, want := range []string{"1024M", "3G"} {
		if got := e.Databases[i].Options.(*zooOptions).Heap.Xmx; got != want {
			t.Errorf("%s: the heap must be %s, got %s", e.Databases[i].ID, want, got)
		}
	}
	shown, err := Show(e)
	if err != nil {
		t.Fatalf("show the experiment: %v", err)
	}
	again, _, err := Parse("test.yaml", shown, testCatalog())
	if err != nil {
		t.Fatalf("parse what is shown: %v\n%s", err, shown)
	}
	for i := range e.Databases {
		if limitsOf(e.Databases[i]) != limitsOf(again.Databases[i]) {
			t.Errorf("%s: %+v is read again as %+v", e.Databases[i].ID, limitsOf(e.Databases[i]), limitsOf(again.Databases[i]))
		}
	}
}
