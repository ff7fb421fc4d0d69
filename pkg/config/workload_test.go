package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// mixedFile gives operations in every form.
const mixedFile = `title: Mixed
hosts: [10.0.0.1]
load: {workload: ycsb-b, duration: 30s, clients: 50, value_size: 256B-4KiB}
databases:
  etcd__b:
  etcd__d: {load: {workload: ycsb-d, keys: 5000, read: stale}}
  etcd__e: {load: {workload: ycsb-e, range_limit: 10, key_law: uniform, value_size: 100}}
  etcd__mix: {load: {mix: {write: 3, read: 16.5, delete: 0.5}, key_law: latest, value_size_max: 8KiB}}
  etcd__ramps:
    load:
      operation: update
      duration: 40s
      rate: 100
      rate_end: 900
      steps:
      - {clients: 10, duration: 10s}
      - {clients: 10, duration: 10s, rate: 50}
      - {clients: 10, duration: 10s, rate: 50, rate_end: 5}
      - {clients: 10, duration: 10s, rate: 0, ramp: 4s}
  consul: {load: {operation: swap, key_law: sequential, ramp: 10s, clients: 200}}
  zookeeper: {load: {operation: read, same_key: true}}
  consul__growing: {load: {operation: write, rate: 10, rate_end: 2000}}
`

func TestMixes(t *testing.T) {
	e := parse(t, mixedFile)
	type meaning struct {
		Does   string
		KeyLaw workload.KeyLaw
		Read   workload.ReadMode
		Keys   int64
		Range  int
		Values [2]int
	}
	got := map[string]meaning{}
	for _, d := range e.Databases {
		l := d.Load
		if (l.Operation == "") != (len(l.Mix) > 0) {
			t.Errorf("%s: operation %q and mix %v", d.ID, l.Operation, l.Mix)
		}
		got[d.ID] = meaning{l.Describe(), l.KeyLaw, l.Read, l.Keys, l.RangeLimit, [2]int{l.ValueSize, l.ValueSizeMax}}
	}
	want := map[string]meaning{
		"etcd__b":         {"ycsb-b (95 % read, 5 % update)", "zipfian", "linearizable", 1000, 0, [2]int{256, 4096}},
		"etcd__d":         {"ycsb-d (95 % read, 5 % write)", "latest", "stale", 5000, 0, [2]int{256, 4096}},
		"etcd__e":         {"ycsb-e (95 % range, 5 % write)", "uniform", "linearizable", 1000, 10, [2]int{100, 0}},
		"etcd__mix":       {"15 % write, 82.5 % read, 2.5 % delete", "latest", "linearizable", 1000, 0, [2]int{256, 8192}},
		"etcd__ramps":     {"update", "uniform", "", 1000, 0, [2]int{256, 4096}},
		"consul":          {"swap", "sequential", "leader", 1000, 0, [2]int{256, 4096}},
		"zookeeper":       {"read", "", "sync+get", 0, 0, [2]int{256, 4096}},
		"consul__growing": {"write", "", "", 0, 0, [2]int{256, 4096}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
}

func TestNamedWorkloads(t *testing.T) {
	for name, want := range map[string]string{
		"ycsb-a": "50 % read, 50 % update; zipfian", "ycsb-b": "95 % read, 5 % update; zipfian", "ycsb-c": "100 % read; zipfian",
		"ycsb-d": "95 % read, 5 % write; latest", "ycsb-e": "95 % range, 5 % write; zipfian", "ycsb-f": "50 % read, 50 % swap; zipfian",
		"kubernetes": "40.8 % read, 31.2 % txn, 25.7 % create, 2.32 % range; uniform",
	} {
		l := parse(t, "hosts: [a]\nload: {workload: "+name+"}\ndatabases: {etcd: }\n").Databases[0].Load
		if got := workload.Percents(l.Mix) + "; " + string(l.KeyLaw); got != want || l.Workload != name || l.Keys != 1000 || l.Read == "" {
			t.Errorf("%s: %s, want %s (%+v)", name, got, want, l)
		}
		limits := map[string]int{"ycsb-e": 100, "kubernetes": 500}
		if l.RangeLimit != limits[name] {
			t.Errorf("%s reads ranges of %d keys, want %d", name, l.RangeLimit, limits[name])
		}
	}
}

func TestRamps(t *testing.T) {
	e := parse(t, mixedFile)
	step := func(rate, end float64, ramp time.Duration) workload.Step {
		return workload.Step{Clients: 10, Connections: 10, Duration: 10 * time.Second, Rate: rate, RateEnd: end, Ramp: ramp}
	}
	// A step that has its own rate ignores rate_end of the load.
	want := []workload.Step{step(100, 900, 0), step(50, 0, 0), step(50, 5, 0), step(0, 0, 4*time.Second)}
	stepped := e.Databases[4].Load
	if diff := cmp.Diff(want, stepped.Stretches()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if stepped.RateEnd != 0 || stepped.Ramp != 0 {
		t.Errorf("a stepped load has ramps of its own: %+v", stepped)
	}
	plain := workload.Step{Clients: 200, Connections: 200, Duration: 30 * time.Second, Ramp: 10 * time.Second}
	if diff := cmp.Diff([]workload.Step{plain}, e.Databases[5].Load.Stretches()); diff != "" {
		t.Errorf("a ramp without steps (-want +got):\n%s", diff)
	}
	if l := e.Databases[7].Load; l.Rate != 10 || l.RateEnd != 2000 {
		t.Errorf("a rate that changes without steps: %+v", l)
	}
	l := parse(t, "hosts: [a]\nload: {clients: [1, 10], ramp: 2s}\ndatabases: {etcd: }\n").Databases[0].Load
	if l.Steps[0].Ramp != 2*time.Second || l.Steps[1].Ramp != 2*time.Second {
		t.Errorf("steps without the load's ramp: %+v", l.Steps)
	}
}

// TestOverlayReplaces lays keys over those they exclude.
func TestOverlayReplaces(t *testing.T) {
	for _, test := range []struct{ load, own, want string }{
		{"{workload: ycsb-a}", "{operation: write}", "write"},
		{"{mix: {read: 1, update: 1}}", "{workload: ycsb-c}", "ycsb-c (100 % read)"},
		{"{operation: write}", "{mix: {update: 1}}", "100 % update"},
		{"{workload: ycsb-a, keys: 7, key_law: uniform}", "{same_key: true}", "ycsb-a (50 % read, 50 % update)"},
		{"{operation: read, same_key: true}", "{keys: 9}", "read"},
		{"{value_size: 1KiB-2KiB}", "{value_size: 10}", "write"},
		{"{duration: 5s, rate: 1, rate_end: 2}", "{rate: 1, arrival: poisson}", "write"},
	} {
		l := parse(t, "hosts: [a]\nload: "+test.load+"\ndatabases: {etcd: {load: "+test.own+"}}\n").Databases[0].Load
		if l.Describe() != test.want {
			t.Errorf("%s over %s: %s, want %s", test.own, test.load, l.Describe(), test.want)
		}
		if l.SameKey == (l.Keys > 0) && l.Describe() != "write" {
			t.Errorf("%s over %s: same key %v and %d keys", test.own, test.load, l.SameKey, l.Keys)
		}
	}
}

// TestPaceOfARate keeps the keys that need a rate if one step has a rate, and drops
// them if a database resets the rate.
func TestPaceOfARate(t *testing.T) {
	for _, test := range []struct {
		load, own string
		want      workload.Load
	}{
		{"{steps: [{clients: 1, requests: 9}, {clients: 2, requests: 9, rate: 1}], arrival: poisson, backlog: shed, drain: 1s}", "{}",
			workload.Load{Pace: workload.Pace{Arrival: "poisson", Backlog: "shed"}, Limits: workload.Limits{Drain: time.Second}}},
		{"{steps: [{clients: 1, requests: 9}, {clients: 2, requests: 9, rate: 1}], bind: client, drain: 1s}", "{}",
			workload.Load{Pace: workload.Pace{Arrival: "constant", Backlog: "keep", Bind: "client"}, Limits: workload.Limits{Drain: time.Second}}},
		{"{rate: 5, bind: client, drain: 1s}", "{bind: any}", workload.Load{Pace: workload.Pace{Arrival: "constant", Backlog: "keep"}, Limits: workload.Limits{Drain: time.Second}}},
		{"{rate: 5, bind: client}", "{rate: 0}", workload.Load{Pace: workload.Pace{Arrival: "constant", Backlog: "keep"}, Limits: workload.Limits{Drain: 10 * time.Second}}},
		{"{rate: 5, arrival: poisson, backlog: shed, drain: 1s}", "{rate: 0, timeout: 3s}",
			workload.Load{Pace: workload.Pace{Arrival: "constant", Backlog: "keep"}, Limits: workload.Limits{Drain: 3 * time.Second}}},
		{"{arrival: constant}", "{}", workload.Load{Pace: workload.Pace{Arrival: "constant", Backlog: "keep"}, Limits: workload.Limits{Drain: 10 * time.Second}}},
		{"{workload: ycsb-d, key_law: zipfian, rate: 5, backlog: shed}", "{}", workload.Load{Pace: workload.Pace{Arrival: "constant", Backlog: "shed"}, Limits: workload.Limits{Drain: 10 * time.Second}}},
		{"{operation: update, key_law: latest, rate: 5, backlog: shed}", "{}", workload.Load{Pace: workload.Pace{Arrival: "constant", Backlog: "shed"}, Limits: workload.Limits{Drain: 10 * time.Second}}},
	} {
		l := parse(t, "hosts: [a]\nload: "+test.load+"\ndatabases: {etcd: {load: "+test.own+"}}\n").Databases[0].Load
		got := workload.Load{Pace: workload.Pace{Arrival: l.Arrival, Backlog: l.Backlog, Bind: l.Bind}, Limits: workload.Limits{Drain: l.Drain}}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s under %s (-want +got):\n%s", test.own, test.load, diff)
		}
	}
}

func TestWorkloadWarnings(t *testing.T) {
	_, warnings, err := Parse("x.yaml", []byte(body+"load: {operation: write, keys: 5, key_law: zipfian, range_limit: 3, range_mode: keys, read: stale}\n"), testCatalog())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	want := []string{
		`3:32: keys: the load takes no keys that exist`,
		`3:44: key_law: the load takes no keys that exist`,
		`3:66: range_limit: no operation of the load reads ranges`,
		`3:81: range_mode: no operation of the load reads ranges`,
		`3:93: read: no operation of the load reads`,
	}
	var got []string
	for _, w := range warnings {
		got = append(got, strings.TrimPrefix(strings.Replace(w.String(), "warning: ", "", 1), "x.yaml:"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// A database has only its own range modes, and a mode without a limit has no limit.
func TestRangeModes(t *testing.T) {
	c := testCatalog()
	for i := range c {
		c[i].Info.Lists = nil
	}
	file := func(load string) []byte { return []byte("hosts: [a]\ndatabases:\n  etcd: {load: " + load + "}\n") }
	_, _, err := Parse("x.yaml", file("{operation: range, range_mode: count}"), c)
	if want := `x.yaml:3:47: range_mode: etcd has no ranges of the mode "count" (it has values)`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a mode that the database lacks: %v, want %s", err, want)
	}
	for i := range c {
		c[i].Info.Lists = []workload.RangeMode{workload.RangeCount, workload.RangePages}
	}
	e, warnings, err := Parse("x.yaml", file("{operation: range, range_mode: count, range_limit: 7}"), c)
	if err != nil {
		t.Fatal(err)
	}
	if l := e.Databases[0].Load; l.RangeMode != workload.RangeCount || l.RangeLimit != 0 {
		t.Errorf("got the mode %q with the limit %d, want a count without a limit", l.RangeMode, l.RangeLimit)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "range_limit: a range of the mode count has no limit") {
		t.Errorf("the warnings are %v, want one about the limit", warnings)
	}
	e, _, err = Parse("x.yaml", file("{operation: range, range_mode: pages, range_limit: 7}"), c)
	if err != nil || e.Databases[0].Load.RangeLimit != 7 {
		t.Errorf("pages of 7 keys: %v, %+v", err, e)
	}
	for i := range c {
		c[i].Info.Lists = append(c[i].Info.Lists, workload.RangeStream)
	}
	e, warnings, err = Parse("x.yaml", file("{operation: range, range_mode: stream}"), c)
	if err != nil || e.Databases[0].Load.RangeMode != workload.RangeStream || e.Databases[0].Load.RangeLimit != 0 || len(warnings) > 0 {
		t.Errorf("a stream: %v, %v, %+v; want one without a limit", err, warnings, e)
	}
}

// TestWorkloadProblems is [TestCompactProblems] for operations.
func TestWorkloadProblems(t *testing.T) {
	for _, test := range []struct {
		name, load string
		want       []string
	}{
		{"three meanings", "{mix: {read: 1}, operation: write, workload: ycsb-a}", []string{
			`3:35: operation: mix (line 3) already sets the operations; give one of operation, mix and workload`,
			`3:52: workload: mix (line 3) already sets the operations; give one of operation, mix and workload`}},
		{"words", "{workload: ycsb, key_law: zipf}", []string{
			`3:18: workload: unknown value "ycsb" (did you mean "ycsb-a"?)`,
			`3:33: key_law: unknown value "zipf" (did you mean "zipfian"?)`}},
		{"words far from any", "{workload: tpcc, key_law: gauss}", []string{
			`3:18: workload: unknown value "tpcc" (known: ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f, kubernetes)`,
			`3:33: key_law: unknown value "gauss" (known: sequential, uniform, zipfian, latest, hotset)`}},
		{"operations of a mix", "{mix: {raed: 1, wriet: 1, read: 0, range: -1, swap: .inf, delete: much, update: }}", []string{
			`3:14: mix: unknown operation "raed" (did you mean "read"?)`,
			`3:23: mix: unknown operation "wriet" (did you mean "write"?)`,
			`3:39: the weight of read must be over 0 and at most 1e9, got 0`,
			`3:49: the weight of range must be over 0 and at most 1e9, got -1`,
			`3:59: the weight of swap must be over 0 and at most 1e9, got .inf`,
			`3:73: the weight of delete: want a number, got "much"`,
			`3:87: the weight of update: want a number, got nothing`}},
		{"one operation twice", "{mix: {read: 1, read: 2}}", []string{`3:23: key "read" is given twice (first in line 3)`}},
		{"no operation", "{mix: {}}", []string{`3:13: mix: it names no operation`}},
		{"nothing", "{mix: }", []string{`3:13: mix: it names no operation`}},
		{"no mapping", "{mix: [read, write]}", []string{`3:13: mix: want a mapping, got a list`}},
		{"less than a thousandth", "{mix: {read: 10000, update: 9, swap: 1}}", []string{
			`3:27: mix: update is less than a thousandth of the load`,
			`3:38: mix: swap is less than a thousandth of the load`}},
		{"no keys", "{operation: read, keys: 0}", []string{`3:31: keys must be positive for operations on keys that exist, got 0`}},
		{"one key and many", "{operation: read, same_key: true, keys: 3, key_law: uniform}", []string{
			`3:47: keys: same_key (line 3) sends every request to one key; give one of the two`,
			`3:59: key_law: same_key (line 3) sends every request to one key; give one of the two`}},
		{"an unknown range", "{operation: range, range_mode: value}", []string{`3:38: range_mode: unknown value "value" (did you mean "values"?)`}},
		{"a range of no keys", "{operation: range, range_mode: pages, range_limit: 0}", []string{`3:58: range_limit must be positive, got 0`}},
		{"no range", "{workload: ycsb-e, range_limit: 0}", []string{`3:39: range_limit must be positive, got 0`}},
		{"keys of a mix that are too short", "{workload: ycsb-d, keys: 900, key_size: 3, requests: 3000, clients: 1}", []string{
			`3:47: key_size: 3 bytes cannot hold 1050 different keys (at least 4)`}},
		{"existing keys that are too short", "{operation: read, keys: 1001, key_size: 3, requests: 10, clients: 1}", []string{
			`3:47: key_size: 3 bytes cannot hold 1001 different keys (at least 4)`}},
		{"ranges of sizes", "{value_size: 4KiB-256B}", []string{
			`3:20: value_size: 256 is less than 4096: the smaller size comes first`}},
		{"no sizes", "{value_size: 1KiB-2cubits}", []string{
			`3:20: value_size: want a size such as 1KiB, or two such as 256B-4KiB, got "1KiB-2cubits"`}},
		{"two ends", "{value_size: 256-4096, value_size_max: 5000}", []string{
			`3:46: value_size_max: value_size (line 3) is a range; give one of the two`}},
		{"an end before the beginning", "{value_size: 100, value_size_max: 99}", []string{
			`3:41: value_size_max: 99 is less than value_size (100)`}},
		{"a range that begins too low", "{value_size: 8-64}", []string{
			`3:20: value_size: sizes of a range must be at least 16 bytes, got 8`}},
		{"a range that ends too high", "{value_size: 1KiB-2MiB}", []string{`3:20: value_size: 2097152 is more than etcd takes (1500000)`}},
		{"no rate to begin with", "{duration: 9s, rate_end: 5}", []string{
			`3:32: rate_end: a rate that changes needs a rate to begin with`}},
		{"a rate that changes for ever", "{requests: 100, rate: 1, rate_end: 5}", []string{
			`3:42: rate_end: a rate that changes needs a duration to change over`}},
		{"a rate that changes at random", "{duration: 9s, rate: 1, rate_end: 5, arrival: poisson}", []string{
			`3:41: rate_end: requests of a rate that changes are evenly spaced; arrival: poisson (line 3) needs a constant rate`}},
		{"a closed loop with what belongs to a rate", "{arrival: poisson, backlog: keep, drain: 1s}", []string{
			`3:17: arrival: poisson needs a rate; without a rate, a client sends when its last request has ended`,
			`3:35: backlog needs a rate: without one, no request waits for a client`,
			`3:48: drain needs a rate: without one, no request waits for a client`}},
		{"steps without a rate", "{rate: 0, backlog: shed, steps: [{clients: 1, requests: 9}, {clients: 2, requests: 9, rate: 0}]}", []string{
			`3:26: backlog needs a rate: without one, no request waits for a client`}},
		{"keys that may be dropped", "{workload: ycsb-d, rate: 100, backlog: shed}", []string{
			`3:46: backlog: shed would drop writes of the keys that key_law latest reads; keep them, or take another key_law`}},
		{"keys of a mix that may be dropped", "{mix: {update: 1, write: 1}, key_law: latest, rate: 100, backlog: shed}", []string{
			`3:73: backlog: shed would drop writes of the keys that key_law latest reads; keep them, or take another key_law`}},
		{"a closed loop with requests of clients", "{bind: client}", []string{
			`3:14: bind needs a rate: without one, no request waits for a client`}},
		{"an unknown owner of requests", "{rate: 5, bind: clients}", []string{
			`3:23: bind: unknown value "clients" (did you mean "client"?)`}},
		{"keys that may wait for a client", "{workload: ycsb-d, rate: 100, bind: client}", []string{
			`3:43: bind: client would leave writes of the keys that key_law latest reads waiting for their clients; leave it out, or take another key_law`}},
		{"a ramp beside a rate", "{rate: 1, ramp: 1s}", []string{
			`3:23: ramp: with a rate, clients send when a request is due; give a rate_end to let the rate grow`}},
		{"hot keys of another law", "{operation: update, key_law: hotset, keys: 5, hot_keys: 6}", []string{
			`3:63: hot_keys: 6 are more than the 5 keys`}},
		{"no hot key", "{operation: update, key_law: hotset, hot_keys: 0}", []string{`3:54: hot_keys must be positive, got 0`}},
		{"a misspelt hot share", "{operation: update, key_law: hotset, hot_shares: 9%}", []string{
			`3:44: unknown key "hot_shares" (did you mean "hot_share"?)`}},
		{"waves without a rate", "{arrival: sine}", []string{
			`3:17: arrival: sine needs a rate; without a rate, a client sends when its last request has ended`}},
		{"a wave that is none", "{rate: 5, arrival: sine, period: 0s}", []string{`3:40: period must be positive, got 0s`}},
		{"a wave below nothing", "{rate: 5, arrival: sine, peak: 2.5}", []string{
			`3:38: peak: a sine rises to between 1 and 2 times its mean, and falls as far below it, got 2.5`}},
		{"bursts above the mean", "{rate: 5, arrival: bursts, period: 2s, burst: 500ms, peak: 5}", []string{
			`3:66: peak: bursts of 500ms each 2s can have from 1 to 4 times the mean rate, got 5`}},
		{"bursts without an end", "{rate: 5, arrival: bursts, period: 2s, burst: 2s}", []string{
			`3:53: burst must be more than 0s and less than the period (2s), got 2s`}},
		{"a wave with another end", "{rate: 5, arrival: bursts, rate_end: 9, duration: 9s}", []string{
			`3:44: rate_end: requests of a rate that changes are evenly spaced; arrival: bursts (line 3) needs a constant rate`}},
		{"a law without a name", "{value_sizes: {p50: 20}}", []string{`3:21: value_sizes: law is missing`}},
		{"an unknown law", "{value_sizes: {law: lognormall}}", []string{`3:27: law: unknown value "lognormall" (did you mean "lognormal"?)`}},
		{"a law without a median", "{value_sizes: {law: lognormal, p99: 2KB}}", []string{`3:21: value_sizes: p50 must be positive, got 0`}},
		{"percentiles that do not ascend", "{value_sizes: {law: lognormal, p50: 2KB, p99: 2KB}}", []string{
			`3:53: value_sizes: p99 must be more than p50 (2000), got 2000`}},
		{"a law that begins too low", "{value_sizes: {law: lognormal, p50: 2KB, p99: 3KB, min: 8}}", []string{
			`3:63: value_sizes: min must be at least 16, got 8`}},
		{"a law that ends too high", "{value_sizes: {law: lognormal, p50: 2KB, p99: 300KB}}", []string{
			`3:21: value_sizes: 3000000 is more than etcd takes (1500000)`}},
		{"two kinds of sizes", "{value_size: 9, value_sizes: {law: lognormal, p50: 2KB, p99: 3KB}}", []string{
			`3:20: value_size: value_sizes (line 3) is a law for the sizes; give one of the two`}},
		{"a histogram without a file", "{value_sizes: {law: histogram}}", []string{`3:21: value_sizes: file is missing`}},
		{"a histogram of something else", "{value_sizes: {law: histogram, file: load.go}}", []string{
			`3:44: value_sizes: file "load.go": line 3: want a size in bytes, a comma and a count, got "import ("`}},
		{"a transaction of no key", "{operation: txn, txn_keys: 0}", []string{`3:34: txn_keys must be positive, got 0`}},
		{"a transaction of more keys than there are", "{operation: txn, keys: 3, txn_keys: 4}", []string{
			`3:43: txn_keys: 4 are more than the 3 keys that exist`}},
		{"a transaction of one key's neighbors", "{operation: txn, same_key: true, txn_keys: 2}", []string{
			`3:50: txn_keys: same_key (line 3) leaves a transaction one key, got 2`}},
		{"a transaction of keys that come", "{mix: {txn: 1, create: 1}, key_law: latest, txn_keys: 2}", []string{
			`3:61: txn_keys: key_law latest takes keys whose neighbors may not exist, so a transaction has one key, got 2`}},
		{"a transaction of too many keys", "{operation: txn, txn_keys: 9}", []string{
			`3:34: txn_keys: 9 are more keys than etcd takes in one transaction`}},
		{"a transaction that is too large", "{operation: txn, txn_keys: 4, value_size: 300KB}", []string{
			`3:49: value_size: 300000 is more than etcd takes (250000)`}},
		{"a create that is too large", "{operation: create, value_size: 1.2MB}", []string{
			`3:39: value_size: 1200000 is more than etcd takes (1000000)`}},
		{"two ways to create keys", "{mix: {write: 1, create: 1}}", []string{
			`3:13: mix: write and create both create keys; give one of the two`}},
		{"a misspelt number of keys", "{operation: txn, txn_key: 2}", []string{`3:24: unknown key "txn_key" (did you mean "txn_keys"?)`}},
		{"a ramp that does not end", "{steps: [{clients: 1, duration: 2s, ramp: 3s}]}", []string{
			`3:49: ramp: 3s is longer than the 2s in which clients send`}},
		{"a ramp beside one step's rate", "{ramp: 1s, steps: [{clients: 1, requests: 9}, {clients: 1, requests: 9, rate: 5}]}", []string{
			`3:14: ramp: with a rate, clients send when a request is due; give a rate_end to let the rate grow`}},
	} {
		t.Run(test.name, func(t *testing.T) { wantProblems(t, body+"load: "+test.load+"\n", test.want) })
	}
}

// TestWhatADatabaseLacks reports unsupported operations at their place in the file.
func TestWhatADatabaseLacks(t *testing.T) {
	const does = "(it supports write, update, read, read-oneshot, delete, swap, txn, create)"
	for load, want := range map[string]string{
		"{mix: {update: 1, range: 1}}":  `2:25: mix: zookeeper does not support "range" ` + does,
		"{operation: txn, txn_keys: 2}": `2:34: txn_keys: zookeeper has no transactions of several keys, got 2`,
		"{workload: ycsb-e}":            `2:18: workload: ycsb-e has "range", which zookeeper does not support ` + does,
	} {
		t.Run(load, func(t *testing.T) {
			wantProblems(t, "hosts: [a]\nload: "+load+"\ndatabases: {etcd: , zookeeper: }\n", []string{want})
		})
	}
}

// TestTooManyOperations needs a catalog of more operations than exist.
func TestTooManyOperations(t *testing.T) {
	catalog := testCatalog()[:1]
	catalog[0].Info.Operations = []workload.Op{"write", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9"}
	mix := "{" + strings.Join(yamlfile.Words(catalog[0].Info.Operations), ": 1, ") + ": 1}"
	_, _, err := Parse("x.yaml", []byte(body+"load: {mix: "+mix+"}\n"), catalog)
	if err == nil || err.Error() != "x.yaml:3:13: mix: 9 operations are more than the 8 that a load keeps apart" {
		t.Errorf("got %v", err)
	}
}

// TestSizesOfAFile: a histogram is read with the experiment, which holds all sizes.
func TestSizesOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sizes.csv")
	if err := os.WriteFile(file, []byte("bytes,count\n64,3\n4096,1\n"), 0o600); err != nil {
		t.Fatalf("write a histogram: %v", err)
	}
	l := parse(t, body+"load: {value_sizes: {law: histogram, file: "+file+"}}\n").Databases[0].Load
	want := workload.Sizes{Law: workload.SizesHistogram, File: file, Bins: []workload.SizeBin{{Bytes: 64, Count: 3}, {Bytes: 4096, Count: 1}}}
	if diff := cmp.Diff(want, l.Sizes); diff != "" || l.ValueSize != 64 || l.ValueSizeMax != 4096 {
		t.Errorf("sizes of %d to %d (-want +got):\n%s", l.ValueSize, l.ValueSizeMax, diff)
	}
	own := parse(t, "hosts: [a]\nload: {value_sizes: {law: lognormal, p50: 100, p99: 400}}\ndatabases: {etcd: {load: {value_size: 10}}, etcd__b: }\n")
	if a, b := own.Databases[0].Load, own.Databases[1].Load; a.Sizes.Law != "" || a.ValueSize != 10 || a.ValueSizeMax != 0 || b.Sizes.P99 != 400 || b.ValueSize != 16 || b.ValueSizeMax != 4000 {
		t.Errorf("a database's size must replace the file's law, got %+v and %+v", a.Sizes, b.Sizes)
	}
}
