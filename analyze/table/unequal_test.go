package table

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// A reader who compares two runs must see every condition in which they differ.
func TestDifferencesNameEveryCondition(t *testing.T) {
	of := func(tag string, change func(*results.Manifest, *results.DatabaseRun)) *run.Run {
		record := &results.DatabaseRun{
			Tag: tag, Database: "etcd", Setup: results.Setup{Options: []byte(`{"Transport": "lean"}`)},
			Load:    results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Pace: workload.Pace{Rate: 100}, Extent: workload.Extent{Duration: time.Second}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Second}, Route: workload.Route{Target: "all"}}},
			Members: []results.Member{{Version: "3.6.16", Host: &results.Host{Name: "server", CPUs: 4, BootID: "server's"}}},
		}
		m := &results.Manifest{Format: 2, Tool: results.Tool{Version: "v1"}, Client: results.Host{Name: "client", CPUs: 2}}
		if change != nil {
			change(m, record)
		}
		return &run.Run{Info: run.Info{Tag: tag, Manifest: m, Record: record}, Machines: run.Machines{Servers: make([]run.Machine, 1)}, Stages: []*run.Stage{{Latency: run.Latency{Clock: run.FromDue}}}}
	}
	same := of("a", nil)
	if got := Unequal([]*run.Run{same, of("b", nil)}, nil); len(got) > 0 {
		t.Errorf("equal runs differ: %q", got)
	}
	for want, change := range map[string]func(*results.Manifest, *results.DatabaseRun){
		"client machines: a: client, 2 CPUs; b: client, 8 CPUs": func(m *results.Manifest, _ *results.DatabaseRun) { m.Client.CPUs = 8 },
		"server machines: a: server, 4 CPUs; b: other, 4 CPUs":  func(_ *results.Manifest, r *results.DatabaseRun) { r.Members[0].Host.Name = "other" },
		"versions: a: 3.6.16; b: 3.4.23":                        func(_ *results.Manifest, r *results.DatabaseRun) { r.Members[0].Version = "3.4.23" },
		"versions of dbtester: a: v1; b: v2":                    func(m *results.Manifest, _ *results.DatabaseRun) { m.Tool.Version = "v2" },
		"load.target: a: all; b: leader":                        func(_ *results.Manifest, r *results.DatabaseRun) { r.Load.Target = "leader" },
		"load.timeout: a: 1s; b: 2s":                            func(_ *results.Manifest, r *results.DatabaseRun) { r.Load.Timeout = 2 * time.Second },
		"load.drain: a: 1s; b: 3s":                              func(_ *results.Manifest, r *results.DatabaseRun) { r.Load.Drain = 3 * time.Second },
		"loads: a: 1s; b: 2s":                                   func(_ *results.Manifest, r *results.DatabaseRun) { r.Load.Duration = 2 * time.Second },
		"transports: a: lean; b: standard":                      func(_ *results.Manifest, r *results.DatabaseRun) { r.Options = []byte(`{"Transport": "standard"}`) },
		"record formats: a: 2":                                  func(m *results.Manifest, _ *results.DatabaseRun) { m.Format = 1 },
		"load.expect.failed: a: not set; b: 5 %":                func(_ *results.Manifest, r *results.DatabaseRun) { r.Load.Expect.Failed = 5 },
		"placements of the client: a: on a machine of its own; b: on a member's machine": func(_ *results.Manifest, r *results.DatabaseRun) {
			r.Validity = []results.Mark{{Code: mark.SharedHost}}
		},
	} {
		got := Unequal([]*run.Run{same, of("b", change)}, nil)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("differences %q, want %q alone", got, want)
		}
	}
	// Two databases have versions that cannot be the same.
	other := of("b", func(_ *results.Manifest, r *results.DatabaseRun) {
		r.Database, r.Members[0].Version = "zookeeper", "3.9.5"
	})
	if got := Unequal([]*run.Run{same, other}, nil); len(got) > 0 {
		t.Errorf("versions of two databases are compared: %q", got)
	}
}

// The transport has the number of requests that its library resent in all steps.
func TestTransport(t *testing.T) {
	for want, steps := range map[string][]results.Step{
		"clientv3":                            {{}, {}},
		"clientv3, 1,007 requests sent again": {{Resent: 1000}, {}, {Resent: 7}},
	} {
		r := &run.Run{Info: run.Info{Record: &results.DatabaseRun{Setup: results.Setup{Options: []byte(`{"transport": "clientv3"}`)}, Steps: steps}}}
		if got := transport(r).Text; got != want {
			t.Errorf("transport is %q, want %q", got, want)
		}
	}
}
