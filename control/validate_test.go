package control

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
)

// Options that a database refuses are found when the file is read, each at its place, even for
// clusters without agents.
func TestOptionsAreValidated(t *testing.T) {
	t.Parallel()
	_, _, err := config.Parse("x.yaml", []byte(`title: Wrong options
hosts: [10.0.0.2]
load: {requests: 1}
databases:
  etcd:
    options:
      transport: foo
      flags: [--pre-vote, --data-dir=/]
  zookeeper:
    version: 3.9.5
    endpoints: ['10.0.0.3:2181']
    options: {key_parents: 0, java_xms: 2G, java_xmx: lots}
  consul: {version: 1.16.0, options: {raft_multiplier: 11}}
  zetcd: {options: {snapshot_count: 0}}
`), all.Registry().All())
	if err == nil {
		t.Fatal("the file is accepted, want every wrong option refused")
	}
	for _, want := range []string{
		"x.yaml:7:18: options of etcd: transport must be",
		`x.yaml:8:27: options of etcd: flag "--data-dir=/"`,
		"x.yaml:12:28: options of zookeeper: key_parents must be from 1",
		"x.yaml:12:55: options of zookeeper: java_xmx must be a size",
		"x.yaml:13:56: options of consul: raft_multiplier must be from 1 to 10, got 11",
		"x.yaml:14:37: options of zetcd: snapshot_count must be at least 1, got 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("problems lack %q:\n%v", want, err)
		}
	}
}

// Experiments from other sources than files pass the same check before anything starts.
func TestDriverIsValidated(t *testing.T) {
	t.Parallel()
	registry := all.Registry()
	for name, options := range map[string]string{"zookeeper": "key_parents: 0", "zetcd": "key_parents: 0", "etcd": "transport: foo", "consul": "transport: foo"} {
		entry, err := registry.Get(name)
		if err != nil {
			t.Fatalf("find the database: %v", err)
		}
		_, err = newDriver(entry, &config.Database{ID: name, OptionsYAML: []byte(options)})
		key, _, _ := strings.Cut(options, ":")
		if err == nil || !strings.Contains(err.Error(), key+" must be") {
			t.Errorf("%s with %s: %v, want an error that names the option", name, options, err)
		}
	}
}
