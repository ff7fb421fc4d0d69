package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// parse parses a file that has neither errors nor warnings.
func parse(t *testing.T, file string) *Experiment {
	t.Helper()
	e, warnings, err := Parse("dir/some-test.yaml", []byte(file), testCatalog())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	for _, w := range warnings {
		t.Error(w)
	}
	return e
}

func TestDefaultsOfAShortFile(t *testing.T) {
	got := parse(t, "hosts: [10.0.0.1]\ndatabases:\n  etcd:\n")
	want := &Experiment{
		Title: "some-test", Seed: 1, Trials: 1, Settle: 5 * time.Second, Sample: time.Second, Metrics: true, Results: "results",
		Steps: Steps{Start: true, Load: true, Stop: true},
		Plots: DefaultPlots(),
		Databases: []Database{{
			ID: "etcd", Name: "etcd", Tag: "etcd",
			Hosts:   []Host{{Addr: "10.0.0.1", AgentPort: 3500, Ports: map[string]int{"client": 2379, "peer": 2380}}},
			Options: &etcdOptions{SnapshotCount: 100_000, QuotaBackendBytes: 8_000_000_000, HeartbeatInterval: 100 * time.Millisecond},
			Load: workload.Load{
				Content:  workload.Content{Operation: "write"},
				Extent:   workload.Extent{Requests: 100_000, Clients: 100, Connections: 100},
				Pace:     workload.Pace{Arrival: "constant", Backlog: "keep"},
				Sizing:   workload.Sizing{KeySize: 256, ValueSize: 1024},
				Limits:   workload.Limits{Timeout: 10 * time.Second, Drain: 10 * time.Second},
				Route:    workload.Route{Failover: "next", Target: "all"},
				Validity: workload.Validity{Judge: workload.DefaultJudge()},
			},
			Steps: Steps{Start: true, Load: true, Stop: true},
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Database{}, "OptionsYAML"), cmpopts.IgnoreUnexported(Experiment{})); diff != "" {
		t.Errorf("experiment (-want +got):\n%s", diff)
	}
	wantYAML := "snapshot_count: 100000\nquota_backend_bytes: 8000000000\nheartbeat_interval: 100ms\nunsafe_no_fsync: false\n"
	if diff := cmp.Diff(wantYAML, string(got.Databases[0].OptionsYAML)); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

const fullFile = `title: Write 1M keys
description: |
  Two lines,
  of text.
seed: 0x10
trials: 3
settle: 1m
sample: 100ms
metrics: false
results: out
agent_port: 4000
hosts:
- 10.0.0.1
- 10.0.0.2:4001
- {addr: db3.example.org, agent_port: 4002, ports: {client: 12379, election: 4888}}
- '[::1]:4003'
load: &load {operation: write, requests: 1e6, key_size: 64B, value_size: 1KiB, clients: 1000, connections: 100, rate: 0.5}
databases:
  etcd__v3_6:
    version: v3.6.16
    install: true
    options: {snapshot_count: 10000, flags: [--max-txn-ops=200]}
  zookeeper__r3_9:
    version: 3.9.5
    load: {clients: 700, connections: 700, requests: 700}
    options: {java_xmx: 8G}
    steps: {upload: true}
  consul:
    tag: consul-one
    binary: /usr/local/bin/consul
    hosts: [127.0.0.1]
    load: {clients: [1, 10], connections: 10, operation: read, read: stale, target: 127.0.0.1, drain: 0s, arrival: poisson}
    options: {limits: {rate: 3}, meta: {a: b}}
  etcd:
    description: runs already
    endpoints: ['10.1.0.1:2379', 'other:1']
    load: {<<: *load, duration: 20s, warm_up: 2s, cool_down: 3s, target: other}
steps: {stop: true}
plots: [AVG-CPU, {column: MAX-CPU, x_axis: s, y_axis: percent}, {column: CPU-1}]
upload: {url: 's3://bucket/folder', project: p}
`

func TestCompactFile(t *testing.T) {
	e := parse(t, fullFile)
	if e.Title != "Write 1M keys" || e.Description != "Two lines,\nof text.\n" || e.Seed != 16 || e.Trials != 3 ||
		e.Settle != time.Minute || e.Sample != 100*time.Millisecond || e.Metrics || e.Results != "out" {
		t.Errorf("head: %+v", e)
	}
	zoo, consul, running := e.Databases[1], e.Databases[2], e.Databases[3]
	var tags []string
	for _, d := range e.Databases {
		tags = append(tags, d.Tag)
	}
	if diff := cmp.Diff([]string{"etcd-v3.6.16", "zookeeper-3.9.5", "consul-one", "etcd"}, tags); diff != "" {
		t.Errorf("tags:\n%s", diff)
	}
	ports := func(client, peer, election int) map[string]int {
		return map[string]int{"client": client, "peer": peer, "election": election}
	}
	wantHosts := []Host{
		{Addr: "10.0.0.1", AgentPort: 4000, Ports: ports(2181, 2888, 3888)}, {Addr: "10.0.0.2", AgentPort: 4001, Ports: ports(2181, 2888, 3888)},
		{Addr: "db3.example.org", AgentPort: 4002, Ports: ports(12379, 2888, 4888)}, {Addr: "::1", AgentPort: 4003, Ports: ports(2181, 2888, 3888)},
	}
	if diff := cmp.Diff(wantHosts, zoo.Hosts); diff != "" {
		t.Errorf("zookeeper's hosts (-want +got):\n%s", diff)
	}
	if got := zoo.Hosts[3].Agent(); got != "[::1]:4003" {
		t.Errorf("agent %s", got)
	}
	if l := zoo.Load; l.Clients != 700 || l.Connections != 700 || l.Requests != 700 || l.KeySize != 64 || l.ValueSize != 1024 || l.Rate != 0.5 {
		t.Errorf("zookeeper's load: %+v", l)
	}
	if !zoo.Steps.Upload || e.Steps.Upload {
		t.Error("only zookeeper asks for an upload")
	}
	if o := zoo.Options.(*zooOptions); o.Heap.Xmx != "8G" || o.Heap.Xms != "512m" {
		t.Errorf("zookeeper's options: %+v", o)
	}
	wantSteps := []workload.Step{{Clients: 1, Connections: 1, Requests: 500_000, Rate: 0.5}, {Clients: 10, Connections: 10, Requests: 500_000, Rate: 0.5}}
	if diff := cmp.Diff(wantSteps, consul.Load.Steps); diff != "" {
		t.Errorf("consul's steps (-want +got):\n%s", diff)
	}
	if l := consul.Load; l.Clients != 10 || l.Connections != 10 || l.Requests != 1_000_000 || l.Read != "stale" || l.Drain != 0 || l.Timeout != 10*time.Second {
		t.Errorf("consul's load: %+v", l)
	}
	if len(running.Hosts) != 0 || running.Steps != (Steps{Load: true}) || running.Load.Duration != 20*time.Second || running.Load.Requests != 1_000_000 {
		t.Errorf("the running cluster: %+v", running)
	}
	wantPlots := []Plot{{"AVG-CPU", "Second", "Average CPU(%)"}, {"MAX-CPU", "s", "percent"}, {"CPU-1", "Second", "CPU-1"}}
	if diff := cmp.Diff(wantPlots, e.Plots); diff != "" {
		t.Errorf("plots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Upload{URL: "s3://bucket/folder", Project: "p"}, e.Upload); diff != "" {
		t.Errorf("upload (-want +got):\n%s", diff)
	}
}

func TestSteps(t *testing.T) {
	for _, test := range []struct {
		name, load string
		want       []workload.Step
	}{
		{"the classic split", "{clients: [1, 10, 100], requests: 30000}", []workload.Step{
			{Clients: 1, Connections: 1, Requests: 10_000}, {Clients: 10, Connections: 10, Requests: 10_000},
			{Clients: 100, Connections: 100, Requests: 10_000}}},
		{"at most a hundred connections", "{clients: [1000], rate: 5}", []workload.Step{
			{Clients: 1000, Connections: 100, Requests: 100_000, Rate: 5}}},
		{"own connections at most", "{clients: [1, 1000], connections: 7}", []workload.Step{
			{Clients: 1, Connections: 1, Requests: 50_000}, {Clients: 1000, Connections: 7, Requests: 50_000}}},
		{"own numbers first", "{requests: 100, steps: [{clients: 1}, {clients: 2, requests: 40, rate: 9}, {clients: 3, connections: 2}]}", []workload.Step{
			{Clients: 1, Connections: 1, Requests: 30}, {Clients: 2, Connections: 2, Requests: 40, Rate: 9},
			{Clients: 3, Connections: 2, Requests: 30}}},
		{"all their own", "{steps: [{clients: 1, requests: 3}, {clients: 1, duration: 3s}]}", []workload.Step{
			{Clients: 1, Connections: 1, Requests: 3}, {Clients: 1, Connections: 1, Duration: 3 * time.Second}}},
		{"a duration is shared too", "{duration: 10s, clients: [1, 2, 3]}", []workload.Step{
			{Clients: 1, Connections: 1, Duration: 3333 * time.Millisecond}, {Clients: 2, Connections: 2, Duration: 3333 * time.Millisecond},
			{Clients: 3, Connections: 3, Duration: 3334 * time.Millisecond}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := parse(t, "hosts: [a]\nload: "+test.load+"\ndatabases: {etcd: }\n").Databases[0].Load
			if diff := cmp.Diff(test.want, l.Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			var requests int64
			var duration time.Duration
			for _, s := range l.Steps {
				requests += s.Requests
				duration += s.Duration
			}
			if l.Requests != requests || l.Duration != duration {
				t.Errorf("the load's %d requests and %s are not its steps' %d and %s", l.Requests, l.Duration, requests, duration)
			}
		})
	}
}

// TestOverlay lays a database's load over the one at the top of the file.
func TestOverlay(t *testing.T) {
	file := func(load, own string) string {
		return "hosts: [a]\nload: " + load + "\ndatabases:\n  zookeeper: {load: " + own + "}\n"
	}
	l := parse(t, file("{clients: [1, 10], rate: 3, timeout: 2s}", "{clients: 70, drain: 1s}")).Databases[0].Load
	if len(l.Steps) != 0 || l.Clients != 70 || l.Connections != 70 || l.Rate != 3 || l.Timeout != 2*time.Second || l.Drain != time.Second {
		t.Errorf("clients over steps: %+v", l)
	}
	l = parse(t, file("{clients: 70}", "{steps: [{clients: 5}]}")).Databases[0].Load
	if len(l.Steps) != 1 || l.Clients != 5 {
		t.Errorf("steps over clients: %+v", l)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{
		"7": 7, "256B": 256, "1KB": 1000, "1 KiB": 1024, "0.5KiB": 512, "1MB": 1_000_000, "0x10": 16, "1e3": 1000,
	} {
		l := parse(t, "hosts: [a]\nload: {requests: 1, clients: 1, value_size: "+text+"}\ndatabases: {etcd: }\n").Databases[0].Load
		if l.ValueSize != want {
			t.Errorf("%s is %d, want %d", text, l.ValueSize, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	_, warnings, err := Parse("x.yaml", []byte(body+"plots: [AVG-CPUU, AVG-READ-BYTES-DELTA]\nsteps: {upload: true}\nupload: {url: 'gs://b', key_file: /does/not/exist}\n"), testCatalog())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	want := []string{
		`x.yaml:3:9: warning: column: "AVG-CPUU" is not a column of every report (did you mean "AVG-CPU"?)`,
		`x.yaml:3:19: warning: column: "AVG-READ-BYTES-DELTA" is read as "AVG-READ-BYTES-NUM-DELTA"`,
		`x.yaml:5:35: warning: key_file: "/does/not/exist" does not exist here; the upload will need it`,
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "my test.yaml")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	e, _, err := Read(path, testCatalog())
	if err != nil || e.Path != path || e.Title != "my test" {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, _, err := Read(filepath.Join(dir, "none"), testCatalog()); !errors.Is(err, fs.ErrNotExist) || yamlfile.AsProblems(err) != nil {
		t.Errorf("a missing file: %v", err)
	}
	_, _, err = Parse("x", nil, testCatalog())
	var problems *yamlfile.Problems
	if !errors.As(err, &problems) || len(*problems) != 1 {
		t.Errorf("an empty file: %v", err)
	}
}

func TestSelect(t *testing.T) {
	e := parse(t, "hosts: [a]\ndatabases: {etcd__v3_6: , consul: , zookeeper: }\n")
	if err := e.Select("etcd__v3_7"); err == nil || err.Error() != `unknown database id "etcd__v3_7" (did you mean "etcd__v3_6"?)` {
		t.Errorf("got %v", err)
	}
	if err := e.Select("mongo"); err == nil || err.Error() != `unknown database id "mongo" (known: etcd__v3_6, consul, zookeeper)` {
		t.Errorf("got %v", err)
	}
	if err := e.Select("consul"); err != nil || len(e.Databases) != 1 || e.Databases[0].ID != "consul" {
		t.Errorf("got %v, %+v", err, e.Databases)
	}
}

func TestStarter(t *testing.T) {
	file := string(Starter(testCatalog()))
	e := parse(t, file)
	if e.Databases[0].Name != "etcd" || len(e.Databases) != 1 {
		t.Errorf("databases: %+v", e.Databases)
	}
	for _, name := range []string{"zookeeper", "consul"} {
		if !strings.Contains(file, name) {
			t.Errorf("the file does not name %s", name)
		}
	}
	if lines := strings.Count(file, "\n"); lines > 30 {
		t.Errorf("%d lines are not short", lines)
	}
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		requests int64
		n        int
		want     []int64
	}{
		{1_000_000, 8, append(slices.Repeat([]int64{120_000}, 7), 160_000)},
		{30_000, 3, []int64{10_000, 10_000, 10_000}},
		{10_000, 3, []int64{3000, 3000, 4000}},
		{1000, 3, []int64{333, 333, 334}},
		{5, 1, []int64{5}},
		{5, 0, nil},
	} {
		if diff := cmp.Diff(test.want, split(test.requests, test.n)); diff != "" {
			t.Errorf("split(%d, %d):\n%s", test.requests, test.n, diff)
		}
	}
}

func TestSetRequests(t *testing.T) {
	e := parse(t, "hosts: [a]\nload: {key_size: 6, clients: [1, 10]}\ndatabases: {etcd: , consul: {load: {clients: 50, duration: 9s}}}\n")
	for n, want := range map[int64]string{
		0:         "etcd: requests must be positive, got 0",
		49:        "consul: 50 clients are more than the 49 requests they share",
		1_000_001: "etcd: keys of 6 bytes cannot be 1000001 different ones",
	} {
		if err := e.SetRequests(n); err == nil || err.Error() != want {
			t.Errorf("%d requests: %v, want %s", n, err, want)
		}
	}
	if err := e.SetRequests(15); err == nil || err.Error() != "etcd: step 2: 10 clients are more than the 8 requests they share" {
		t.Errorf("15 requests: %v", err)
	}
	if err := e.SetRequests(30_000); err != nil {
		t.Fatalf("set the requests: %v", err)
	}
	steps := e.Databases[0].Load.Steps
	if steps[0].Requests != 10_000 || steps[1].Requests != 20_000 || e.Databases[1].Load.Requests != 30_000 {
		t.Errorf("got %+v and %+v", steps, e.Databases[1].Load)
	}
}

// Hosts may be names that are resolved when a run starts.
func TestHostsByName(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"names", "hosts: ['dns:a-0.agent', 'dns:a-1.agent:3600', {addr: 'dns:a-2.agent'}, 10.0.0.1]\n", "a-0.agent:3500 a-1.agent:3600 a-2.agent:3500 10.0.0.1:3500"},
		{"mentions", "hosts: ['dns:agent', 'dns:agent']\n", "agent:3500 agent:3500"},
		{"one for all members", "hosts: ['dns:agent']\nmembers: 3\n", "agent:3500 agent:3500 agent:3500"},
		{"one member", "hosts: ['dns:agent']\nmembers: 1\n", "agent:3500"},
		{"a name that stays", "hosts: [a-0.agent, b]\n", "a-0.agent:3500 b:3500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := test.file + "databases: {etcd: {version: v3.6.16}}\n"
			var list []string
			for _, h := range parse(t, file).Databases[0].Hosts {
				list = append(list, h.Agent())
				if named := strings.Contains(h.Addr, "agent") && test.name != "a name that stays"; named != (h.DNS != "") {
					t.Errorf("%+v: looked up is %v, want %v", h, h.DNS != "", named)
				}
			}
			if got := strings.Join(list, " "); got != test.want {
				t.Errorf("agents %s, want %s", got, test.want)
			}
			wantSameAgain(t, test.name, []byte(file))
		})
	}
	sweep := parse(t, "hosts: ['dns:agent']\nsweep: {members: [1, 3]}\ndatabases: {etcd: {version: v3.6.16}}\n")
	if len(sweep.Databases) != 2 || len(sweep.Databases[0].Hosts) != 1 || len(sweep.Databases[1].Hosts) != 3 {
		t.Errorf("a sweep has databases %+v, want one of one member and one of three", sweep.Databases)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "experiment.md"))
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	_, section, _ := strings.Cut(string(page), "## Hosts by name\n")
	section, _, _ = strings.Cut(section, "\n## ")
	examples := strings.Split(section, "```yaml\n")[1:]
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		if hosts := parse(t, example+"databases: {etcd: {version: v3.6.16}}\n").Databases[0].Hosts; len(hosts) != 3 || hosts[2].DNS == "" {
			t.Errorf("hosts %+v, want three names of\n%s", hosts, example)
		}
	}
	if len(examples) != 2 {
		t.Errorf("%d examples of hosts by name on the page, want 2", len(examples))
	}
	_, _, err = Parse("x.yaml", []byte("hosts: ['dns:', 'dns:a b', 'dns:a:0']\ndatabases: {etcd: }\n"), testCatalog())
	if err == nil || strings.Count(err.Error(), "x.yaml:1:") != 3 {
		t.Errorf("names that are none: %v, want a problem for each", err)
	}
}
