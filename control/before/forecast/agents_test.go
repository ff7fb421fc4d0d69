package forecast_test

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/control/before/forecast"
)

// TestCheckAgents: loads that do not fit on the machine of an agent are refused at their place,
// with the agent address.
func TestCheckAgents(t *testing.T) {
	t.Parallel()
	e := parse(t, "requests: 1000000", "etcd: {hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]}") // about 3 GiB of disk
	db := &e.Databases[0]
	roomy := func(n string) forecast.AgentMachine {
		return forecast.AgentMachine{Agent: n + ":3500", Machine: n, Disk: "sda", MemoryBytes: 64 << 30, FreeBytes: 8 << 30}
	}
	for _, tt := range []struct {
		name   string
		change func(m []forecast.AgentMachine)
		want   []string
	}{
		{"room enough", func([]forecast.AgentMachine) {}, nil},
		{"nothing known", func(m []forecast.AgentMachine) { clear(m) }, nil},
		{"one small disk", func(m []forecast.AgentMachine) { m[1].FreeBytes = 1 << 30 },
			[]string{"of disk on each member, and the free disk of agent b:3500 is 1.1 GB"}},
		{"a full disk", func(m []forecast.AgentMachine) { m[0].FreeBytes = 1 },
			[]string{"of disk on each member, and the free disk of agent a:3500 is 1 B: room for 0 % of them"}},
		{"a full disk of two", func(m []forecast.AgentMachine) { m[1].Machine, m[0].FreeBytes, m[1].FreeBytes = "a", 1, 1 },
			[]string{"the free disk of agent a:3500, shared by 2 members, is 1 B", "the free disk of agent b:3500, shared by 2 members, is 1 B"}},
		{"a small memory", func(m []forecast.AgentMachine) { m[2].MemoryBytes = 100 << 20 },
			[]string{"of memory on each member, and the memory of the machine of agent c:3500 is 105 MB"}},
		{"two on one disk", func(m []forecast.AgentMachine) { m[1].Machine, m[0].FreeBytes, m[1].FreeBytes = "a", 3<<30, 3<<30 },
			[]string{"the free disk of agent a:3500, shared by 2 members, is 1.6 GB", "the free disk of agent b:3500, shared by 2 members, is 1.6 GB"}},
		{"two disks of one machine", func(m []forecast.AgentMachine) { m[1].Machine, m[1].Disk = "a", "sdb" }, nil},
	} {
		machines := []forecast.AgentMachine{roomy("a"), roomy("b"), roomy("c")}
		tt.change(machines)
		err := forecast.CheckAgents(e, db, machines)
		var lines []string
		if err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		if len(lines) != len(tt.want) {
			t.Errorf("%s: %d refusals, want %d: %v", tt.name, len(lines), len(tt.want), err)
			continue
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, "x.yaml:3:18: requests: etcd: 1,000,000 keys") || !strings.Contains(line, tt.want[i]) {
				t.Errorf("%s: %q, want %q in it", tt.name, line, tt.want[i])
			}
		}
	}
	db.Load.Expect.Unknown = 90
	small := roomy("a")
	small.FreeBytes = 1 << 30
	if err := forecast.CheckAgents(e, db, []forecast.AgentMachine{small}); err != nil {
		t.Errorf("a load that expects to fail is refused: %v", err)
	}
}
