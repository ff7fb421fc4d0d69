package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// body ends a file whose point is elsewhere.
const body = "hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\ndatabases: {etcd: {version: v3.6.16}}\n"

// TestCompactProblems holds wrong files and the exact messages for each; file "x.yaml" and the colon before the line are left out.
func TestCompactProblems(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"empty", "", []string{`1:1: the file is empty`}},
		{"only comments", "# nothing\n\n", []string{`1:1: the file is empty`}},
		{"null document", "---\n~\n", []string{`1:1: the file is empty`}},
		{"not a mapping", "- etcd\n", []string{`1:1: the file: want a mapping, got a list`}},
		{"text", "hello\n", []string{`1:1: the file: want a mapping, got "hello"`}},
		{"tab", "load:\n\trequests: 1\n", []string{`2:1: not YAML: a tab indents this line; YAML wants spaces`}},
		{"bracket", "hosts: [1.2.3.4,\n", []string{`2:1: not YAML: did not find expected node content`}},
		{"indentation", "title: x\n  hosts: []\n", []string{`2:8: not YAML: mapping values are not allowed in this context`}},
		{"unknown anchor", "title: *a\n", []string{`1:8: not YAML: unknown anchor 'a' referenced`}},
		{"second document", body + "---\ntitle: b\n", []string{`3:1: a second document begins here; the file must have only one`}},
		{"unknown key", body + "load:\n  cliens: 3\n", []string{`4:3: unknown key "cliens" (did you mean "clients"?)`}},
		{"unknown key far from any", body + "zzzzzzzz: 3\n", []string{`3:1: unknown key "zzzzzzzz"`}},
		{"unknown key in a step", body + "load: {steps: [{clients: 1, request: 2}]}\n", []string{
			`3:29: unknown key "request" (did you mean "requests"?)`}},
		{"duplicate key", body + "load:\n  clients: 1\n  rate: 1\n  clients: 2\n", []string{
			`6:3: key "clients" is given twice (first in line 4)`}},
		{"sampled too often", body + "sample: 10ms\n", []string{`3:9: sample must be from 100ms to 1s and a whole part of a second, got 10ms`}},
		{"sampled too seldom", body + "sample: 2s\n", []string{`3:9: sample must be from 100ms to 1s and a whole part of a second, got 2s`}},
		{"sampled out of step", body + "sample: 300ms\n", []string{`3:9: sample must be from 100ms to 1s and a whole part of a second, got 300ms`}},
		{"sampled never", body + "sample: 0s\n", []string{`3:9: sample must be from 100ms to 1s and a whole part of a second, got 0s`}},
		{"duplicate database", "hosts: [a]\ndatabases:\n  etcd:\n  etcd:\n", []string{
			`4:3: key "etcd" is given twice (first in line 3)`}},
		{"complex key", body + "? [a]\n: b\n", []string{`3:3: the file: want a key, got a list`}},
		{"wrong types", body + `title: [a]
seed: -1
trials: many
settle: 5
results: {a: b}
agent_port: 70000
load:
  requests: 1.5
  duration: -3s
  rate: fast
  same_key: yes
  key_size: 1 cubit
  value_size: -1
  timeout: [1s]
  clients:
`, []string{
			`3:8: title: want text, got a list`,
			`4:7: seed: want a whole number, got "-1"`,
			`5:9: trials: want a whole number, got "many"`,
			`6:9: settle: 5 has no unit (did you mean 5s?)`,
			`7:10: results: want text, got a mapping`,
			`8:13: agent_port: must be 1 to 65535, got 70000`,
			`10:13: requests: want a whole number, got "1.5"`,
			`11:13: duration: -3s is negative`,
			`12:9: rate: want a number, got "fast"`,
			`13:13: same_key: want true or false, got "yes"`,
			`14:13: key_size: want a size such as 256, 256B or 1KiB, got "1 cubit"`,
			`15:15: value_size: -1 is negative`,
			`16:12: timeout: want a duration such as 10s, got a list`,
			`17:11: clients: want a whole number, got nothing`,
		}},
		{"preload and members", `title: x
hosts: [127.0.0.1]
members: 3
load: {operation: read, keys: 20, preload: {keys: 10, bytes: 1MB}}
databases:
  etcd: {load: {preload: {kees: 10}}}
  etcd__b: {load: {preload: {}}}
  etcd__c: {load: {preload: {keys: 0}}}
  etcd__d: {load: {same_key: true, preload: {keys: 10}}, members: 0}
  etcd__e: {endpoints: ["127.0.0.1:2379"], members: 1, load: {preload: {keys: 10}}}
`, []string{
			`3:10: members: 3 members of etcd need as many hosts, got 1`,
			`3:10: members: 3 members of etcd__b need as many hosts, got 1`,
			`3:10: members: 3 members of etcd__c need as many hosts, got 1`,
			`4:31: keys: 20 are more than the 10 of preload (line 10); operations take keys from among those`,
			`4:62: preload: keys (line 4) already gives its size; give one of keys and bytes`,
			`6:27: unknown key "kees" (did you mean "keys"?)`,
			`7:29: preload: give keys or bytes, such as {keys: 10000000} or {bytes: 4GiB}`,
			`8:29: preload must be positive, got 0`,
			`9:45: preload: same_key (line 9) sends every request to one key; give one of the two`,
			`9:67: members must be positive, got 0`,
			`10:53: members: endpoints (line 10) are of a cluster that is already running; give one of the two`,
		}},
		{"impossible values", `title: ""
trials: 0
results: ""
hosts: [127.0.0.1]
load: {requests: 10, clients: 11, connections: 12, rate: -1, timeout: 0s, target: leeder}
databases: {etcd: }
`, []string{
			`1:8: title must not be empty`,
			`2:9: trials must be positive, got 0`,
			`3:10: results must not be empty`,
			`5:31: clients: 11 are more than the 10 requests they share`,
			`5:48: connections: 12 are more than the 11 clients`,
			`5:58: rate: -1 is not between 0 and 1e9 requests per second`,
			`5:71: timeout must be positive, got 0s`,
			`5:83: target: unknown value "leeder" (did you mean "leader"?)`,
		}},
		{"no client, no connection", body + "load: {clients: 0, connections: 0}\n", []string{
			`3:17: clients must be positive, got 0`,
			`3:33: connections must be positive, got 0`}},
		{"no end", body + "load: {requests: 0}\n", []string{
			`3:18: requests: requests or duration must be positive, both are 0`}},
		{"not a number", body + "load: {rate: .nan}\n", []string{
			`3:14: rate: .nan is not between 0 and 1e9 requests per second`}},
		{"keys that are too short", body + "load: {requests: 100001, key_size: 5, clients: 1}\n", []string{
			`3:36: key_size: 5 bytes cannot hold 100001 different keys (at least 6)`}},
		{"no key", body + "load: {key_size: 0, same_key: true}\n", []string{`3:18: key_size must be positive, got 0`}},
		{"value over the most", body + "load: {value_size: 2MiB}\n", []string{
			`3:20: value_size: 2097152 is more than etcd takes (1500000)`}},
		{"value over what options allow", `hosts: [a]
load: {value_size: 1MiB}
databases:
  zookeeper: {load: {key_size: 1000}, options: {java_d_jute_max_buffer: 1000}}
  zookeeper__of_a_range: {load: {value_size: 100-102401}, options: {java_d_jute_max_buffer: 102756}}
  zookeeper__default:
  zookeeper__more: {options: {java_d_jute_max_buffer: 33554432}}
`, []string{
			`2:20: value_size: 1048576 is more than zookeeper takes (0)`,
			`2:20: value_size: 1048576 is more than zookeeper takes (1048220)`,
			`5:46: value_size: 102401 is more than zookeeper takes (102400)`}},
		{"a leader that members do not report", `hosts: [a]
load: {target: leader}
databases:
  etcd:
  zetcd:
  zetcd__b: {load: {target: follower}}
  zetcd__c: {load: {target: a}}
`, []string{
			`2:16: target: leader: zetcd does not report its leader; give all or a host`,
			`6:29: target: follower: zetcd does not report its leader; give all or a host`}},
		{"one port for two roles", `hosts: [{addr: a, ports: {client: 2380}}, {addr: b, ports: {client: 2379, peer: 2379}}, {addr: c, ports: {peer: 9}}]
databases: {etcd: , etcd__again: , consul: }
`, []string{
			`1:27: a: port 2380 is both client and peer; each role needs a port of its own`,
			`1:75: b: port 2379 is both client and peer; each role needs a port of its own`}},
		{"words", body + "load: {operation: wriet, read: lineraizable, arrival: gauss, backlog: drop}\n", []string{
			`3:19: operation: unknown value "wriet" (did you mean "write"?)`,
			`3:32: read: unknown value "lineraizable" (did you mean "linearizable"?)`,
			`3:55: arrival: unknown value "gauss" (known: constant, poisson, sine, bursts)`,
			`3:71: backlog: unknown value "drop" (known: keep, shed)`}},
		{"what a database lacks", "hosts: [a]\nload: {operation: range, read: leader}\ndatabases:\n  etcd:\n  zookeeper:\n", []string{
			`2:19: operation: zookeeper does not support "range" (it supports write, update, read, read-oneshot, delete, swap, txn, create)`,
			`2:32: read: etcd does not support the mode "leader" (it supports linearizable, stale)`,
			`2:32: read: zookeeper does not support the mode "leader" (it supports sync+get, stale)`}},
		{"clients cannot share", "hosts: [a]\ndatabases:\n  zookeeper: {load: {clients: 10, connections: 5}}\n", []string{
			`3:48: connections: 5 for 10 clients, but clients of zookeeper cannot share one: leave it out, or give as many`}},
		{"ids", "hosts: [a]\ndatabases:\n  ectd:\n  etcd__:\n  etcd__a/b:\n", []string{
			`3:3: unknown database "ectd" (did you mean "etcd"?)`,
			`4:3: "etcd__": the label after __ is one or more of a-z A-Z 0-9 _ . + -`,
			`5:3: "etcd__a/b": the label after __ is one or more of a-z A-Z 0-9 _ . + -`}},
		{"tags", "hosts: [a]\ndatabases:\n  etcd: {tag: ../x}\n  etcd__a: {tag: report}\n  etcd__b: {version: 1.0}\n  etcd__c: {version: 1.0}\n", []string{
			`3:15: tag "../x": a tag is made of a-z A-Z 0-9 _ . + , = @ - and starts with a letter, digit or _`,
			`4:18: tag "report": the report uses that name`,
			`6:3: etcd__c: its tag "etcd-1.0" is also the tag of etcd__b; tags must differ (give a version, a label or a tag)`}},
		{"no databases", "hosts: [a]\n", []string{`1:1: no database: name at least one under databases`}},
		{"empty databases", "hosts: [a]\ndatabases: {}\n", []string{`2:12: no database: name at least one under databases`}},
		{"no hosts", "databases:\n  etcd: {}\n  consul: {hosts: []}\n", []string{
			`2:3: no hosts: list them under hosts, or give the endpoints of a cluster that runs`,
			`3:19: no hosts: list them under hosts, or give the endpoints of a cluster that runs`}},
		{"hosts", "hosts:\n- 10.0.0.1:0\n- 999.1.2.3\n- {agent_port: 1}\n- {addr: a-b, port: 3}\n- {addr: ok, ports: {cleint: 1}}\n- []\n- 'bad host'\ndatabases: {etcd: }\n", []string{
			`2:3: hosts: port must be 1 to 65535, got "0"`,
			`3:3: hosts: want an IP address or a host name, got "999.1.2.3"`,
			`4:3: host: addr is missing`,
			`5:15: unknown key "port" (did you mean "ports"?)`,
			`6:22: ports: etcd has no port "cleint" (did you mean "client"?)`,
			`7:3: hosts: want text, got a list`,
			`8:3: hosts: want an IP address or a host name, got "bad host"`}},
		{"hosts that are no list", "hosts: 10.0.0.1\ndatabases: {etcd: }\n", []string{`1:8: hosts: want a list, got "10.0.0.1"`}},
		{"one machine twice", "hosts: [10.0.0.1, 10.0.0.1, '10.0.0.1:3501']\ndatabases: {etcd: }\n", []string{
			`1:19: 10.0.0.1 is listed twice (also as host 1); members on one machine need different agent_port and ports`,
			`1:29: 10.0.0.1: port 2379 (client) is also used by host 1 (client)`,
			`1:29: 10.0.0.1: port 2380 (peer) is also used by host 1 (peer)`,
			`1:29: 10.0.0.1: port 2379 (client) is also used by host 2 (client)`,
			`1:29: 10.0.0.1: port 2380 (peer) is also used by host 2 (peer)`}},
		{"one machine by two names", "hosts: [localhost, 127.0.0.1]\ndatabases: {etcd: }\n", []string{
			`1:20: 127.0.0.1 is listed twice (also as host 1); members on one machine need different agent_port and ports`}},
		{"one machine by two spellings", "hosts: ['::1', '0:0:0:0:0:0:0:1']\ndatabases: {etcd: }\n", []string{
			`1:16: 0:0:0:0:0:0:0:1 is listed twice (also as host 1); members on one machine need different agent_port and ports`}},
		{"addresses of no machine", "hosts: [0.0.0.0, a_b, \"::1%lo\\nserver.9=x\"]\ndatabases: {etcd: }\n", []string{
			`1:9: hosts: want the address of one machine, got "0.0.0.0", which is every address of a machine`,
			`1:18: hosts: want an IP address or a host name, got "a_b"`,
			`1:23: hosts: want text without control characters and line breaks, got "::1%lo\nserver.9=x"`}},
		{"more than a machine can do", "hosts: [a]\nload: {clients: 100000000, requests: 1e9, rate: 1e9, arrival: poisson}\ndatabases: {etcd: }\n", []string{
			`2:17: clients must be at most 1000000, got 100000000`,
			`2:63: arrival: poisson draws every request, so the rate must be at most 10000000, got 1000000000`}},
		{"endpoints", "databases:\n  etcd: {endpoints: ['10.0.0.1:2379', 10.0.0.2, 'b:http'], steps: {start: true}}\n", []string{
			`2:39: endpoints: want host:port, got "10.0.0.2"`,
			`2:49: endpoints: want host:port, got "b:http"`,
			`2:75: etcd: endpoints (line 2) are of a cluster that is already running; it is not started or stopped`}},
		{"install and binary", "hosts: [a]\ndatabases: {etcd: {install: true, binary: /x}}\n", []string{
			`2:43: binary: install (line 2) fetches the release; give one of the two`}},
		{"clients and steps", body + "load: {clients: 3, steps: [{clients: 1}]}\n", []string{
			`3:17: clients: steps (line 3) give the number of clients; give one of the two`}},
		{"clients twice as steps", body + "load: {steps: [{clients: 1}], clients: [1]}\n", []string{
			`3:40: clients: a list of clients is short for steps (line 3); give one of the two`}},
		{"steps", body + "load: {requests: 10, steps: [{clients: 1, requests: 20}, {requests: 1}, {clients: 2}]}\n", []string{
			`3:18: requests: 10 are too few for the steps`,
			`3:58: step: clients is missing`,
			`3:73: step: requests or duration must be positive, both are 0`}},
		{"steps that do not add up", body + "load: {requests: 10, duration: 1m, steps: [{clients: 1, requests: 9, duration: 1s}]}\n", []string{
			`3:18: requests: 10, but the steps' own come to 9`,
			`3:32: duration: 1m0s, but the steps' own come to 1s`}},
		{"steps with more clients than requests", body + "load: {requests: 100, clients: [1, 10, 1000]}\n", []string{
			`3:40: clients: 1000 are more than the 34 requests they share`}},
		{"no steps", body + "load: {clients: []}\n", []string{`3:17: clients: the list is empty`}},
		{"trims", body + "load: {duration: 10s, warm_up: 5s, cool_down: 5s}\n", []string{
			`3:32: warm_up and cool_down leave nothing to measure of 10s`}},
		{"cool-down without an end", body + "load: {cool_down: 5s}\n", []string{
			`3:19: cool_down needs a duration: without one, the end of the load is not known before`}},
		{"upload to nowhere", body + "steps: {upload: true}\n", []string{
			`3:17: an upload needs a destination: give upload.url`}},
		{"upload", body + "upload: {url: 'http://x', keyfile: y}\n", []string{
			`3:15: url: want gs://bucket/folder, s3://bucket/folder or file:///folder, got "http://x"`,
			`3:27: unknown key "keyfile" (did you mean "key_file"?)`}},
		{"options", `hosts: [a]
databases:
  etcd:
    options:
      snapshot_conut: 5
      quota_backend_bytes: 8 GB
      heartbeat_interval: 100
      unsafe_no_fsync: 1
      flags: [a, {b: c}]
  zookeeper:
    options: {java_xmx: [8G], tick_time: -1, init_limit: 9999999999999999999, sync_limit: 5, sync_limit: 6}
  consul:
    options:
      limits: {http_max_conn_per_client: 3, rate: .inf}
      meta: {a: [b]}
`, []string{
			`5:7: unknown key "snapshot_conut" (did you mean "snapshot_count"?)`,
			`6:28: quota_backend_bytes: want a whole number, got "8 GB"`,
			`7:27: heartbeat_interval: 100 has no unit (did you mean 100s?)`,
			`8:24: unsafe_no_fsync: want true or false, got "1"`,
			`9:18: flags: want text, got a mapping`,
			`11:25: java_xmx: want text, got a list`,
			`11:42: tick_time: -1 is negative`,
			`11:58: init_limit: want a whole number, got "9999999999999999999"`,
			`11:94: key "sync_limit" is given twice (first in line 11)`,
			`14:16: unknown key "http_max_conn_per_client" (did you mean "http_max_conns_per_client"?)`,
			`14:51: rate: want a number, got ".inf"`,
			`15:13: meta: want map[string]string, got a mapping`,
		}},
		{"a merge of itself", "databases: &a\n  <<: *a\nhosts: [a]\n", []string{
			`1:12: databases: too many merge keys (<<), or one that merges itself`}},
		{"both schemas", "test_title: x\nhosts: [a]\ndatabases: {etcd: }\nall_database_id_list: []\n", []string{
			`2:1: "hosts" belongs to the compact schema, but "test_title" (line 1) to the classic schema; a file must use one of them`}},
	} {
		t.Run(test.name, func(t *testing.T) { wantProblems(t, test.file, test.want) })
	}
}

// wantProblems parses a file and compares its problems.
func wantProblems(t *testing.T, file string, want []string) {
	t.Helper()
	e, _, err := Parse("x.yaml", []byte(file), testCatalog())
	if err == nil {
		t.Fatalf("no error; want\n%s", strings.Join(want, "\n"))
	}
	if e != nil {
		t.Error("an experiment was returned together with the error")
	}
	var got []string
	for _, p := range yamlfile.AsProblems(err) {
		got = append(got, strings.TrimPrefix(p.String(), "x.yaml:"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
