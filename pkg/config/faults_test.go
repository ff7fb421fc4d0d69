package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/ability/faults"
)

func TestFaults(t *testing.T) {
	const hosts = "hosts: [127.0.0.1, 127.0.0.2, 127.0.0.3]\ndatabases: {etcd: }\n"
	const versioned = "hosts: [127.0.0.1, 127.0.0.2, 127.0.0.3]\ndatabases: {etcd: {version: v3.6.1}}\n"
	const load = "load: {rate: 100, duration: 60s, warm_up: 5s}\n"
	for _, tc := range []struct {
		name, text, problem string
	}{
		{"no kind", "faults: [{at: 10s}]\n" + load + hosts, "test.yaml:1:10: a fault needs a kind"},
		{"another kind", "faults: [{kind: flood, at: 10s}]\n" + load + hosts, `test.yaml:1:17: kind`},
		{"in the warm-up", "faults: [{kind: kill, at: 3s, for: 1s}]\n" + load + hosts, "test.yaml:1:27: at must be behind the warm-up of 5s"},
		{"without length", "faults: [{kind: pause, at: 10s}]\n" + load + hosts, "test.yaml:1:10: pause needs for"},
		{"restart with length", "faults: [{kind: restart, at: 10s, for: 1s}]\n" + load + hosts, "restart takes as long as it takes"},
		{"no such member", "faults: [{kind: kill, at: 10s, for: 1s, member: 4}]\n" + load + hosts, "test.yaml:1:49: member must be from 1 to 3, got 4"},
		{"another word", "faults: [{kind: kill, at: 10s, for: 1s, member: led}]\n" + load + hosts, `must be leader, follower, each, all, minority, followers or a number from 1, got "led"`},
		{"a minority of two", "faults: [{kind: partition, at: 10s, for: 1s, member: minority}]\n" + load + "hosts: [127.0.0.1, 127.0.0.2]\ndatabases: {etcd: }\n", "test.yaml:1:54: member: minority needs three members"},
		{"a partition", "faults: [{kind: partition, at: 10s, for: 1s, member: minority, from: all, direction: in}]\n" + load + hosts, ""},
		{"a partition that loses", "faults: [{kind: partition, at: 10s, for: 1s, member: 1, loss: 5%}]\n" + load + hosts, "test.yaml:1:63: partition has no loss"},
		{"another origin", "faults: [{kind: partition, at: 10s, for: 1s, from: servers}]\n" + load + hosts, "from"},
		{"a loss of nothing", "faults: [{kind: loss, at: 10s, for: 1s, member: 1}]\n" + load + hosts, "loss must be a share from 0.01% to 100%"},
		{"a loss of more than all", "faults: [{kind: loss, at: 10s, for: 1s, member: 1, loss: 101%}]\n" + load + hosts, "test.yaml:1:58: loss must be a share"},
		{"a delay", "faults: [{kind: delay, at: 10s, for: 1s, by: 50ms, rate: 10Mbit}]\n" + load + hosts, ""},
		{"a delay of nothing", "faults: [{kind: delay, at: 10s, for: 1s}]\n" + load + hosts, "test.yaml:1:10: delay needs by, rate or loss"},
		{"a delay by a number", "faults: [{kind: delay, at: 10s, for: 1s, by: 50}]\n" + load + hosts, "test.yaml:1:46: by must be a time up to 10s"},
		{"a bandwidth of bytes", "faults: [{kind: delay, at: 10s, for: 1s, rate: 10MB}]\n" + load + hosts, "test.yaml:1:48: rate must be from 8kbit to 100Gbit"},
		{"a delay of a kill", "faults: [{kind: kill, at: 10s, for: 1s, by: 50ms}]\n" + load + hosts, "kill has no by"},
		{"power", "faults: [{kind: power, at: 10s, for: 1s, member: all}]\n" + load + hosts, ""},
		{"a full disk that stalls", "faults: [{kind: disk, at: 10s, for: 1s, member: 1, full: true, fsync: stall}]\n" + load + hosts, "test.yaml:1:58: a disk has fsync or full, not both"},
		{"after the load", "faults: [{kind: kill, at: 55s, for: 10s}]\n" + load + hosts, "test.yaml:1:10: the fault is over 1m5s after the first request, repeats included, and the load ends after 1m0s"},
		{"overlapping", "faults:\n- {kind: kill, at: 10s, for: 10s}\n- {kind: pause, at: 15s, for: 1s, member: 2}\n" + load + hosts, "test.yaml:3:3: the fault overlaps with that of test.yaml:2:3"},
		{"allowed to", "faults:\n- {kind: kill, at: 10s, for: 10s}\n- {kind: pause, at: 15s, for: 1s, member: 2, overlap: true}\n" + load + hosts, ""},
		{"of different members", "faults:\n- {kind: kill, at: 10s, for: 10s, member: 1}\n- {kind: pause, at: 15s, for: 1s, member: 2}\n" + load + hosts, ""},
		{"repeated too soon", "repeat: {times: 3, every: 5s}\nfaults: [{kind: kill, at: 10s, for: 10s}]\n" + load + hosts, "begin again every 5s"},
		{"repeats without a time", "repeat: {times: 3}\nfaults: [{kind: kill, at: 10s, for: 1s}]\n" + load + hosts, "test.yaml:1:9: repeat: every must be positive"},
		{"repeats that wait", "repeat: {times: 3, until: recovered, jitter: 5s}\nfaults: [{kind: kill, at: 10s, for: 5s}]\n" + load + hosts, ""},
		{"repeats that wait and do not fit", "repeat: {times: 4, until: recovered, jitter: 5s}\nfaults: [{kind: kill, at: 10s, for: 5s}]\n" + load + hosts, "the fault is over 1m5s after the first request, repeats included"},
		{"repeats that wait for something else", "repeat: {times: 3, until: ready}\nfaults: [{kind: kill, at: 10s, for: 5s}]\n" + load + hosts, "test.yaml:1:27: until: unknown value \"ready\""},
		{"no time-out", "faults: [{kind: kill, at: 10s, for: 1s}]\nload: {duration: 60s, timeout: 0s}\n" + hosts, "timeout"},
		{"no duration", "faults: [{kind: kill, at: 10s, for: 1s}]\nload: {rate: 100, requests: 1000}\n" + hosts, "faults need a load with a duration"},
		{"without agents", "faults: [{kind: kill, at: 10s, for: 1s}]\n" + load + "databases: {etcd: {endpoints: ['a:1']}}\n", "test.yaml:1:10: faults: the cluster of endpoints runs without agents"},
		{"probes too often", "probe: 1us\nfaults: [{kind: kill, at: 10s, for: 1s}]\n" + load + hosts, "test.yaml:1:8: probe must be at least 1ms"},
		{"a disk without fsync", "faults: [{kind: disk, at: 10s, for: 1s}]\n" + load + hosts, "test.yaml:1:10: fsync must be stall, EIO, ENOSPC or a time"},
		{"a slow disk", "faults: [{kind: disk, at: 10s, for: 1s, member: 1, fsync: 200ms}]\n" + load + hosts, ""},
		{"fsync of a kill", "faults: [{kind: kill, at: 10s, for: 1s, member: 1, fsync: stall}]\n" + load + hosts, "test.yaml:1:59: kill has no fsync"},
		{"an upgrade", "faults: [{kind: restart, at: 10s, member: each, version: v3.7.0}]\n" + load + versioned, ""},
		{"the same release", "faults: [{kind: restart, at: 10s, member: each, version: 3.6.16}]\n" + load + hosts, "test.yaml:1:58: the members run 3.6.16 already"},
		{"a downgrade", "faults: [{kind: restart, at: 10s, member: each, version: v3.5.9}]\n" + load + versioned, "test.yaml:1:58: 3.5.9 comes before 3.6.1: a downgrade"},
		{"a skipped minor", "faults: [{kind: restart, at: 10s, member: 1, version: v3.8.0}]\n" + load + versioned, "test.yaml:1:55: an upgrade from 3.6.1 to 3.8.0 skips releases: go to 3.7 first"},
		{"upgraded twice", "faults:\n- {kind: restart, at: 10s, member: each, version: v3.7.0}\n- {kind: restart, at: 50s, member: 2, version: v3.6.9}\n" + load + versioned, "test.yaml:3:48: 3.6.9 comes before 3.7.0"},
		{"an upgrade of whoever leads", "faults: [{kind: restart, at: 10s, version: v3.7.0}]\n" + load + versioned, "test.yaml:1:10: an upgrade needs member: each or a number"},
		{"an upgrade repeated", "repeat: {times: 2, every: 25s}\nfaults: [{kind: restart, at: 10s, member: 1, version: v3.7.0}]\n" + load + versioned, "test.yaml:2:55: members are upgraded once"},
		{"an upgrade of an executable", "faults: [{kind: restart, at: 10s, member: 1, version: v3.7.0}]\n" + load + "hosts: [127.0.0.1]\ndatabases: {etcd: {version: v3.6.1, binary: /opt/etcd}}\n", "test.yaml:1:55: the executable of binary runs whatever the version"},
		{"a version of a kill", "faults: [{kind: kill, at: 10s, for: 1s, member: 1, version: v3.7.0}]\n" + load + hosts, "test.yaml:1:61: kill has no version"},
		{"a command of endpoints", "faults: [{kind: command, at: 10s, for: 1s, run: [ls], undo: none}]\n" + load + "databases: {etcd: {endpoints: ['a:1']}}\n", ""},
		{"a command without undo", "faults: [{kind: command, at: 10s, for: 1s, run: [ls]}]\n" + load + hosts, "test.yaml:1:10: a command needs undo"},
		{"an empty undo", "faults: [{kind: command, at: 10s, for: 1s, run: [ls], undo: []}]\n" + load + hosts, "test.yaml:1:61: a command needs undo"},
		{"a command of a member", "faults: [{kind: command, at: 10s, for: 1s, run: [ls], undo: none, member: 1}]\n" + load + hosts, "a command has no member"},
		{"a program of a kill", "faults: [{kind: kill, at: 10s, for: 1s, run: [ls]}]\n" + load + hosts, "test.yaml:1:46: kill has no run"},
		{"a typing error", "faults: [{kind: kill, att: 10s}]\n" + load + hosts, `did you mean "at"?`},
	} {
		_, _, err := Parse("test.yaml", []byte(tc.text), testCatalog())
		switch {
		case tc.problem == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)):
			t.Errorf("%s: want %q, got %v", tc.name, tc.problem, err)
		}
	}
}

// everyKind is an experiment that has each kind of fault.
const everyKind = `faults:
  - {kind: kill,      member: leader, at: 20s, for: 10s}
  - {kind: restart,   member: each,   at: 90s, gap: 20s, version: v3.7.3}
  - {kind: pause,     member: leader, at: 40s, for: 5s}
  - {kind: disk,      member: leader, at: 60s, for: 15s, fsync: stall}
  - {kind: power,     member: all,    at: 170s, for: 5s}
  - {kind: partition, member: leader, at: 190s, for: 10s, from: members, direction: both}
  - {kind: delay,     member: follower, at: 220s, for: 10s, by: 50ms, loss: 5%, rate: 10Mbit}
  - {kind: command,   at: 250s, for: 30s, run: [kubectl, delete, pod, etcd-0], undo: []}
repeat: {times: 10, every: 320s, until: recovered, jitter: 5s}
probe: 20ms
load: {rate: 1000, duration: 3300s, warm_up: 5s, clients: 2000, timeout: 2s, failover: next}
hosts: [127.0.0.1, 127.0.0.2, 127.0.0.3]
databases: {etcd: {version: v3.6.16}}
`

// A file that has every kind is refused at impossible requests: members that are upgraded twice,
// and a command that does not say whether it is undone. Without these the file is accepted.
func TestFaultsOfEveryKind(t *testing.T) {
	_, _, err := Parse("test.yaml", []byte(everyKind), testCatalog())
	if err == nil || !strings.Contains(err.Error(), "test.yaml:3:67: members are upgraded once") || !strings.Contains(err.Error(), "test.yaml:9:86: a command needs undo") || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two problems: an upgrade that is repeated, and a command without undo", err)
	}
	for _, text := range []string{
		strings.NewReplacer("undo: []", "undo: none", ", version: v3.7.3", "").Replace(everyKind),
		strings.NewReplacer("undo: []", "undo: none", "times: 10", "times: 1").Replace(everyKind),
	} {
		e, _, err := Parse("test.yaml", []byte(text), testCatalog())
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		if list := faults.Keys().Of(e.Databases[0].Abilities); len(list) != 8 || list[6].By != "50ms" || list[6].Loss != "5%" || list[6].Rate != "10Mbit" {
			t.Errorf("faults %+v", list)
		}
		wantSameAgain(t, "every kind", []byte(text))
	}
}

// An unknown kind is a single problem.
func TestFaultOfNoKind(t *testing.T) {
	_, _, err := Parse("test.yaml", []byte("faults: [{kind: flood, at: 10s}]\nload: {rate: 100, duration: 60s}\nhosts: [127.0.0.1]\ndatabases: {etcd: }\n"), testCatalog())
	if err == nil || strings.Contains(err.Error(), "needs a kind") || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("want one problem, of the word, got %v", err)
	}
}

// Faults in a database, even an empty list, replace those at the top of the file. A file that shows
// them reads back unchanged.
func TestFaultsOfDatabase(t *testing.T) {
	const text = "faults: [{kind: kill, at: 10s, for: 2s}]\nload: {rate: 100, duration: 60s}\nhosts: [127.0.0.1]\n" +
		"databases: {etcd: , etcd__calm: {faults: []}, etcd__own: {probe: 5ms, faults: [{kind: restart, member: 1, at: 20s}]}}\n"
	e, _, err := Parse("test.yaml", []byte(text), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	want := [][]faults.Fault{
		{{Kind: "kill", Member: "leader", At: 10 * time.Second, For: 2 * time.Second, Gap: 10 * time.Second, Place: "test.yaml:1:10"}},
		nil,
		{{Kind: "restart", Member: "1", At: 20 * time.Second, Gap: 10 * time.Second, Place: "test.yaml:4:80"}},
	}
	for i, d := range e.Databases {
		got := faults.Keys().Of(d.Abilities)
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.ID, diff)
		}
	}
	probes := []time.Duration{20 * time.Millisecond, 0, 5 * time.Millisecond}
	for i, d := range e.Databases {
		if got := faults.Probed().Of(d.Abilities); got != probes[i] {
			t.Errorf("%s: a probe every %v, want %v", d.ID, got, probes[i])
		}
	}
}
