package setting

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// recorded returns a run with every deciding setting, changed.
func recorded(change func(*run.Run)) *run.Run {
	record := &results.DatabaseRun{
		ID: "etcd", Database: "etcd", Tag: "etcd", Setup: results.Setup{OptionTexts: map[string]string{"transport": "lean"},
			Fsync: "fdatasync of the log by a quorum before a write is answered"},
		Load: results.Load{Load: workload.Load{
			Content:  workload.Content{Operation: workload.OpRead, Read: workload.ReadLinearizable},
			Keyspace: workload.Keyspace{Keys: 1000, KeyLaw: workload.KeysUniform},
			Extent:   workload.Extent{Clients: 100, Connections: 100, Duration: time.Minute},
			Sizing:   workload.Sizing{KeySize: 256, ValueSize: 1024},
			Route:    workload.Route{Target: "all"},
		}},
		Steps: []results.Step{{Step: workload.Step{Clients: 10, Connections: 10}}, {Index: 1, Step: workload.Step{Clients: 100, Connections: 100}}},
		Members: []results.Member{
			{Agent: "a:3500", Disk: &results.Disk{Filesystem: "ext4"}}, {Agent: "b:3500", Disk: &results.Disk{Filesystem: "ext4"}}, {Agent: "c:3500", Disk: &results.Disk{Filesystem: "ext4"}},
		},
	}
	r := &run.Run{Info: run.Info{Tag: "etcd", Record: record, Manifest: &results.Manifest{Format: 2, Config: json.RawMessage(`{"databases": [{"id": "etcd"}]}`)}}}
	if change != nil {
		change(r)
	}
	return r
}

func TestDeciding(t *testing.T) {
	for name, change := range map[string]func(*run.Run){
		Operation: func(r *run.Run) { r.Info.Record.Load.Operation = workload.OpUpdate },
		Reads:     func(r *run.Run) { r.Info.Record.Load.Read = workload.ReadStale },
		LoadPace:  func(r *run.Run) { r.Info.Record.Steps[1].Clients = 300 },
		Data:      func(r *run.Run) { r.Info.Record.Load.Preload = 1 << 22 },
		Members:   func(r *run.Run) { r.Info.Record.Members = r.Info.Record.Members[:1] },
		Resources: func(r *run.Run) { r.Info.Record.Resources = &resources.Limits{CPUs: 1} },
		Client:    func(r *run.Run) { r.Info.Record.OptionTexts = map[string]string{"transport": "standard"} },
		Encryption: func(r *run.Run) {
			r.Info.Manifest.Config = json.RawMessage(`{"databases": [{"id": "etcd", "tls": {}}]}`)
		},
		Durability: func(r *run.Run) { r.Info.Record.Fsync = "none: it never syncs" },
		Storage:    func(r *run.Run) { r.Info.Record.Members[0].Disk = &results.Disk{Filesystem: "tmpfs"} },
		Target:     func(r *run.Run) { r.Info.Record.Load.Target = "leader" },
	} {
		got := Unlike(recorded(nil), recorded(change))
		if len(got) != 1 || got[0].Name != name || got[0].A == got[0].B {
			t.Errorf("runs that differ in %q alone: the differences are %q", name, got)
		}
	}
	// The size of the values is also that of the data.
	got := Unlike(recorded(nil), recorded(func(r *run.Run) { r.Info.Record.Load.ValueSizeMax = 4096 }))
	if len(got) != 2 || got[0].Name != Payload || got[1].Name != Data {
		t.Errorf("runs that differ in the size of values: the differences are %q", got)
	}
	if all := Deciding(recorded(nil)); len(all) != 12 {
		t.Errorf("a run with every deciding setting has %d: %q", len(all), all)
	}
}

// Two runs can be ranked although they differ in settings that do not decide.
func TestNotDeciding(t *testing.T) {
	for name, change := range map[string]func(*run.Run){
		"connections":         func(r *run.Run) { r.Info.Record.Steps[1].Connections = 1000 },
		"the words of fsync":  func(r *run.Run) { r.Info.Record.Fsync, r.Info.Record.Durability = "another text", declared.EveryWrite },
		"an unknown fsync":    func(r *run.Run) { r.Info.Record.Fsync = "not known: the cluster was already running" },
		"a database":          func(r *run.Run) { r.Info.Record.Database = "another" },
		"a time-out":          func(r *run.Run) { r.Info.Record.Load.Timeout = time.Second },
		"what is expected":    func(r *run.Run) { r.Info.Record.Load.Expect.Failed = 5 },
		"a manifest's config": func(r *run.Run) { r.Info.Manifest.Config = nil },
	} {
		if got := Unlike(recorded(nil), recorded(change)); len(got) > 0 {
			t.Errorf("%s decides: %q", name, got)
		}
	}
	library := func(name string) *run.Run {
		return recorded(func(r *run.Run) { r.Info.Record.OptionTexts = map[string]string{"transport": name} })
	}
	if got := Unlike(library("standard"), library("clientv3")); len(got) > 0 {
		t.Errorf("two libraries are of two classes: %q", got)
	}
}

// Loads with unequal steps differ, and a rate decides instead of its clients.
func TestDecidingSteps(t *testing.T) {
	a, b := recorded(nil), recorded(func(r *run.Run) {
		r.Info.Record.Steps = append(r.Info.Record.Steps, results.Step{Index: 2, Step: workload.Step{Clients: 1000}})
	})
	if got := Unlike(a, b); len(got) != 1 || got[0] != (Difference{LoadPace, "10 clients, 100 clients", "10 clients, 100 clients, 1000 clients"}) {
		t.Errorf("the loads differ in %q", got)
	}
	rated := recorded(func(r *run.Run) {
		r.Info.Record.Steps = []results.Step{{Step: workload.Step{Clients: 100, Rate: 1500}}}
	})
	if got, want := Deciding(rated), (Setting{LoadPace, "1,500/s due"}); !slices.Contains(got, want) {
		t.Errorf("the settings of a step with a rate are %q, want %q among them", got, want)
	}
}
