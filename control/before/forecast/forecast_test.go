package forecast_test

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
)

// parse reads a file with this load and these databases.
func parse(t *testing.T, load, databases string) *config.Experiment {
	t.Helper()
	return parseText(t, "title: forecast\nhosts: [127.0.0.1, 127.0.0.2, 127.0.0.3]\nload: {"+load+"}\ndatabases: {"+databases+"}\n")
}

func parseText(t *testing.T, text string) *config.Experiment {
	t.Helper()
	e, _, err := config.Parse("x.yaml", []byte(text), all.Registry().All())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	return e
}

// TestData adds up the data of a load: keys before it, creates, updates, and the length.
func TestData(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, load   string
		keys, writes int64
		guessed      bool
		length       string
	}{
		{"writes at a rate", "requests: 10000, rate: 100", 10000, 10000, false, "1m40s"},
		{"a rate with a duration", "rate: 100, duration: 10s", 1000, 1000, false, "10s"},
		{"a rate that changes", "rate: 100, rate_end: 300, duration: 10s", 2000, 2000, false, "10s"},
		{"requests before the duration", "requests: 500, rate: 100, duration: 10s", 500, 500, false, "5s"},
		{"updates", "operation: update, keys: 500, requests: 2500, rate: 100", 500, 3000, false, "about 25s"},
		{"reads", "operation: read, keys: 500, requests: 2500, rate: 100", 500, 500, false, "about 25s"},
		{"one key", "operation: update, same_key: true, requests: 2500, rate: 100", 1, 2501, false, "about 25s"},
		{"a mix", "mix: {read: 3, write: 1}, keys: 100, requests: 400, rate: 100", 200, 200, false, "about 4s"},
		{"a closed loop of requests", "requests: 56150, clients: 50", 56150, 56150, false, "about 10s"},
		{"steps", "clients: [1, 1], requests: 1050", 1050, 1050, false, "about 2s"},
		{"a closed loop of some time", "operation: read, keys: 100, duration: 1m", 100, 100, false, "about 1m"},
	} {
		e := parse(t, tt.load, "etcd: ")
		f := forecast.Of(e, &e.Databases[0], nil)
		if f.Data.Keys != tt.keys || f.Data.Writes != tt.writes || f.Guessed != tt.guessed || f.LengthText() != tt.length {
			t.Errorf("%s: %d keys, %d writes, guessed %v, %s; want %d, %d, %v, %s",
				tt.name, f.Data.Keys, f.Data.Writes, f.Guessed, f.LengthText(), tt.keys, tt.writes, tt.guessed, tt.length)
		}
	}
	e := parse(t, "duration: 1m", "etcd: ")
	if f := forecast.Of(e, &e.Databases[0], nil); !f.Guessed || f.Data.Writes < 100_000 || f.LengthText() != "1m" {
		t.Errorf("writes of a minute: %+v, want a guess of more than 100,000 and a length of 1m", f)
	}
}

// TestFindings: data that does not fit is refused or gets a warning at its place.
func TestFindings(t *testing.T) {
	t.Parallel()
	tight := &forecast.Machine{MemoryBytes: 8 << 30, FreeBytes: 1 << 30, Folder: "results"}
	usual := *tight
	usual.Usually = true
	roomy := &forecast.Machine{MemoryBytes: 64 << 30, FreeBytes: 3 << 30, Folder: "results"}
	const snapshots = "zookeeper: {version: 3.9.5, maintain: {snapshot: 10s}}"
	const quota = "etcd: {options: {quota_backend_bytes: 2GB}}"
	for _, tt := range []struct {
		name, load, databases string
		here                  *forecast.Machine
		want                  []string // the beginning of each finding and a part, with "..." between
	}{
		{"room enough", "requests: 500000", quota, nil, nil},
		{"little room", "requests: 900000", quota, nil, []string{"x.yaml:3:18: warning: requests: etcd: 900,000 keys of 256 + 1,024 bytes need about 1.9 GB of store...quota_backend_bytes is 2.0 GB"}},
		{"no room", "requests: 2000000", quota, nil, []string{"x.yaml:3:18: requests: etcd: 2,000,000 keys...room for 48 % of them"}},
		{"of one database", "requests: 10", "etcd: {load: {requests: 2000000}, options: {quota_backend_bytes: 2GB}}", nil, []string{"x.yaml:4:37: requests: ..."}},
		{"updates of a cluster that is compacted", "operation: update, requests: 2000000", quota, nil, nil},
		{"updates in less than two intervals", "operation: update, requests: 2000000", "etcd: {maintain: {compact: 1h}, options: {quota_backend_bytes: 2GB}}", nil, []string{"x.yaml:3:37: requests: etcd: 1,000 keys..."}},
		{"updates at full speed", "operation: update, duration: 10m", "etcd: {maintain: {compact: 0s}, options: {quota_backend_bytes: 2GB}}", nil, []string{"x.yaml:3:37: warning: duration: ..."}},
		{"updates", "operation: update, requests: 2000000", "etcd: {maintain: {compact: 0s}, options: {quota_backend_bytes: 2GB}}", nil, []string{"x.yaml:3:37: requests: etcd: 1,000 keys of 256 + 1,024 bytes, written 2,001,000 times, need...(every update stays in it as a revision)"}},
		{"keys before the load", "operation: read, keys: 2000000, requests: 10", quota, nil, []string{"x.yaml:3:31: keys: ..."}},
		{"expected", "requests: 2000000, expect: {unknown: 60%}", quota, nil, nil},
		{"more than expected", "requests: 2000000, expect: {unknown: 1%}", quota, nil, []string{"x.yaml:3:18: warning: requests: ..."}},
		{"a guess", "duration: 1h", quota, nil, []string{"x.yaml:3:18: warning: duration: ...need perhaps about"}},
		{"nothing is written", "operation: read, duration: 10h", quota, nil, nil},
		{"a search that is compacted between its windows", "rate: 100}\ncapacity: {hold: 30s", quota, nil, nil},
		{"a search that may fill the store", "operation: write}\ncapacity: {windows: 200", quota, nil, []string{"x.yaml:4:11: warning: capacity: etcd: ...need perhaps about"}},
		{"a search whose first rate fills the store", "operation: write, rate: 1000}\ncapacity: {windows: 200", quota, nil, []string{"x.yaml:4:11: capacity: etcd: 2,062,000 keys...need about"}},
		{"a search whose keys do not fit", "keys: 2000000}\ncapacity: {windows: 12", quota, nil, []string{"x.yaml:4:11: capacity: etcd: 2,000,000 keys...need about"}},
		{"keys before a guess", "operation: update, keys: 2000000, duration: 1m", quota, nil, []string{"x.yaml:3:33: keys: etcd: 2,000,000 keys...need about"}},
		{"snapshots while the length is a guess", "requests: 200000, clients: 1", snapshots, roomy, []string{"x.yaml:3:18: warning: requests: zookeeper-3.9.5: ...need perhaps about 3"}},
		{"snapshots while the length is known", "requests: 200000, rate: 300", snapshots, roomy, []string{"x.yaml:3:18: requests: zookeeper-3.9.5: ...need about 3"}},
		{"snapshots beside data that does not fit", "requests: 400000, clients: 1", snapshots, roomy, []string{"x.yaml:3:18: requests: zookeeper-3.9.5: ...need about 2"}},
		{"the default", "", "etcd: {options: {quota_backend_bytes: 100MB}}", nil, []string{"requests: etcd: 100,000 keys..."}},
		{"etcd's own quota", "requests: 2000000", "etcd: {options: {quota_backend_bytes: 0}}", nil, []string{"x.yaml:3:18: requests: ...quota_backend_bytes is 2.1 GB"}},
		{"a cluster that runs", "requests: 20000000", `etcd: {endpoints: ["127.0.0.1:2379"]}`, tight, nil},
		{"the disk", "requests: 400000", "etcd: ", tight, []string{"x.yaml:3:18: requests: ...of disk on each member, and the free space below results, shared by 3 members, is 358 MB"}},
		{"usually the disk", "requests: 400000", "etcd: ", &usual, []string{"x.yaml:3:18: warning: requests: ..."}},
		{"the memory", "requests: 900000", "etcd: ", &forecast.Machine{MemoryBytes: 1 << 30}, []string{"x.yaml:3:18: requests: ...of memory on each member, and the memory of this machine, shared by 3 members, is 358 MB"}},
		{"the heap", "requests: 2000000", "zookeeper: {version: 3.9.5}", nil, []string{"x.yaml:3:18: requests: ...of heap on each member, and java_xmx is 2.1 GB"}},
		{"a full disk", "requests: 400000", "etcd: ", &forecast.Machine{FreeBytes: 1, Folder: "results"}, []string{"x.yaml:3:18: requests: ...of disk on each member, and the free space below results, shared by 3 members, is 1 B"}},
		{"a member's memory", "requests: 900000", "consul: {version: 1.16.0, resources: {memory: 1GB}}", nil, []string{"x.yaml:3:18: requests: ...of memory on each member, and resources.memory is 1.0 GB"}},
		{"a member's memory on other machines", "operation: read, keys: 2000000", "etcd: {hosts: [10.0.0.1], resources: {memory: 256MiB}}", tight, []string{"x.yaml:3:31: keys: ...of memory on each member, and resources.memory is 268 MB"}},
		{"perhaps a member's memory", "requests: 200000", "consul: {version: 1.16.0, resources: {memory: 1GB}}", nil, []string{"x.yaml:3:18: warning: requests: ...resources.memory is 1.0 GB"}},
		{"just room in a member's memory", "requests: 155000", "consul: {version: 1.16.0, resources: {memory: 1GB}}", nil, nil},
		{"less than a member's memory", "requests: 900000", "etcd: {resources: {memory: 512MiB}}", &forecast.Machine{MemoryBytes: 1 << 30}, []string{"x.yaml:3:18: requests: ...the memory of this machine, shared by 3 members, is 358 MB"}},
		{"other machines", "requests: 400000", "etcd: {hosts: [10.0.0.1]}", tight, nil},
	} {
		e := parse(t, tt.load, tt.databases)
		var got []string
		for _, f := range forecast.Of(e, &e.Databases[0], tt.here).Findings {
			got = append(got, f.String())
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %d findings, want %d: %q", tt.name, len(got), len(tt.want), got)
			continue
		}
		for i, want := range tt.want {
			begin, part, _ := strings.Cut(want, "...")
			if !strings.HasPrefix(strings.TrimPrefix(got[i], ": "), begin) || !strings.Contains(got[i], part) {
				t.Errorf("%s: finding %q, want %q and %q in it", tt.name, got[i], begin, part)
			}
		}
	}
}

// TestClassicFilesAreWarned: they have no key for failures that they expect.
func TestClassicFilesAreWarned(t *testing.T) {
	t.Parallel()
	e := parse(t, "requests: 2000000", "etcd: {options: {quota_backend_bytes: 2GB}}")
	e.Classic = true
	list := forecast.Of(e, &e.Databases[0], nil).Findings
	if len(list) != 1 || list[0].Refused || !strings.Contains(list[0].String(), "warning: requests: ") {
		t.Errorf("want one warning, got %v", list)
	}
}

// TestRequestsOfTheCommandLine: the cause is a request count from the command line.
func TestRequestsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	e := parse(t, "requests: 10, clients: 1", "etcd: ")
	if err := e.SetRequests(20_000_000); err != nil {
		t.Fatalf("set the requests: %v", err)
	}
	_, err := forecast.Problems(forecast.All(e, nil))
	if err == nil || !strings.HasPrefix(err.Error(), "--requests: requests: etcd: 20,000,000 keys") {
		t.Errorf("%v, want a refusal that names --requests", err)
	}
}

func TestTotal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ load, databases, more, want string }{
		{"requests: 6000, rate: 100", "etcd: , etcd__b: ", "", "2m"},
		{"requests: 6000, rate: 100", "etcd: ", "trials: 3\nsettle: 30s\n", "4m"},
	} {
		text := tt.more + "hosts: [127.0.0.1]\nload: {" + tt.load + "}\ndatabases: {" + tt.databases + "}\n"
		e, _, err := config.Parse("x.yaml", []byte(text), all.Registry().All())
		if err != nil {
			t.Fatalf("parse the experiment: %v", err)
		}
		if got := forecast.Total(e, forecast.All(e, nil)); got != tt.want {
			t.Errorf("%s%s: %q, want %q", tt.more, tt.load, got, tt.want)
		}
	}
}
