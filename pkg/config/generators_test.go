package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGenerators: entries are written like hosts, and use agent_port from the file.
func TestGenerators(t *testing.T) {
	e, _, err := Parse("x.yaml", []byte(body+"agent_port: 3600\nload: {clients: 4, requests: 10}\ngenerators: [10.0.0.8, '10.0.0.8:3700', {addr: 10.0.0.9, agent_port: 3800}]\n"), testCatalog())
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	want := []Host{{Addr: "10.0.0.8", AgentPort: 3600}, {Addr: "10.0.0.8", AgentPort: 3700}, {Addr: "10.0.0.9", AgentPort: 3800}}
	if diff := cmp.Diff(want, e.Generators); diff != "" {
		t.Errorf("generators (-want +got):\n%s", diff)
	}
	if e, _, err = Parse("x.yaml", []byte(body), testCatalog()); err != nil || len(e.Generators) != 0 {
		t.Errorf("a file without the key has the generators %v, error %v; want none", e.Generators, err)
	}
}

// TestGeneratorProblems: loads that generators cannot issue are refused at their place.
func TestGeneratorProblems(t *testing.T) {
	const two = "generators: [10.0.0.8, 10.0.0.9]\n"
	for _, test := range []struct{ name, rest, want string }{
		{"twice", "load: {clients: 4, requests: 9}\ngenerators: [10.0.0.8, 10.0.0.8]\n", "4:24: generators: the agent 10.0.0.8:3500 is listed twice (also as generator 1)"},
		{"ports", "load: {clients: 4, requests: 9}\ngenerators: [{addr: 10.0.0.8, ports: {client: 1}}]\n", `4:39: ports: a generator has no member, so no port "client"; it has an agent_port`},
		{"no address", "generators: [{agent_port: 3500}]\n", "3:14: host: addr is missing"},
		{"fewer clients", "load: {clients: 1, requests: 9}\n" + two, "3:17: clients: each of 2 generators (line 4) needs a client and a connection, and a step of etcd has 1 clients on 1 connections"},
		{"fewer connections", "load: {clients: 4, connections: 1, requests: 9}\n" + two, "3:33: connections: each of 2 generators (line 4) needs a client and a connection, and a step of etcd has 4 clients on 1 connections"},
		{"reads of created keys", "load: {clients: 4, requests: 9, mix: {read: 50, write: 50}, keys: 9, key_law: latest}\n" + two, "4:13: generators: the load of etcd: a load that reads the keys it creates must have 1 part, got 2"},
		{"shared keys", "load: {clients: 4, requests: 9, operation: update, keys: 8, value_size: 32, key_law: uniform}\nconsistency: true\n" + two, "4:14: consistency: generators that share keys cannot be judged, as each knows only what it wrote itself and their clocks differ: give the load of etcd key_law: sequential and a number of keys that 2 divides"},
		{"keys that nobody shares evenly", "load: {clients: 4, requests: 9, operation: update, keys: 9, value_size: 32}\nconsistency: true\n" + two, "4:14: consistency: generators that share keys"},
	} {
		_, _, err := Parse("x.yaml", []byte(body+test.rest), testCatalog())
		if err == nil || !strings.Contains(err.Error(), "x.yaml:"+test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// TestGeneratorsWithKeysOfTheirOwn: a verdict is accepted where each generator has its own keys.
func TestGeneratorsWithKeysOfTheirOwn(t *testing.T) {
	for _, load := range []string{
		"load: {clients: 4, requests: 9, mix: {read: 50, update: 50}, keys: 8, key_law: sequential, value_size: 32}\n",
		"load: {clients: 4, requests: 9, operation: write, value_size: 32}\n",
	} {
		if _, _, err := Parse("x.yaml", []byte(body+load+"consistency: true\ngenerators: [10.0.0.8, 10.0.0.9]\n"), testCatalog()); err != nil {
			t.Errorf("%s: %v", load, err)
		}
	}
}

// TestGeneratorsAndLoopback: generators on other machines do not reach members on loopback.
func TestGeneratorsAndLoopback(t *testing.T) {
	const hosts, version = "hosts: [127.0.60.1, 127.0.60.2, 127.0.60.3]\n", "databases: {etcd: {version: v3.6.16}}\n"
	for _, test := range []struct{ name, hosts, generators, want string }{
		{"all on loopback", hosts + version, "[127.0.61.1, localhost]", ""},
		{"members", hosts + version, "[127.0.61.1, 10.0.0.9]", "4:13: generators: 127.0.60.1 of etcd is an address of loopback, and the generator 10.0.0.9:3500 would call its own machine"},
		{"endpoints", "\ndatabases: {etcd: {endpoints: ['localhost:2379']}}\n", "[10.0.0.8]", "4:13: generators: localhost:2379 of etcd is an address of loopback, and the generator 10.0.0.8:3500 would"},
	} {
		_, _, err := Parse("x.yaml", []byte(test.hosts+"load: {clients: 4, requests: 9}\ngenerators: "+test.generators+"\n"), testCatalog())
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), "x.yaml:"+test.want)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
