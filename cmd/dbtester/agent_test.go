package main

import (
	"encoding/csv"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// startAgents starts an agent on each host, and returns when all listen.
func (p place) startAgents(hosts []string, flags ...string) []*command {
	p.t.Helper()
	agents := make([]*command, len(hosts))
	for i, host := range hosts {
		args := []string{"agent", "--agent-port", net.JoinHostPort(host, "3500"), "--work-dir", p.path("agent-" + host)}
		agents[i] = p.start(append(args, flags...)...)
	}
	for _, a := range agents {
		a.says("agent listens")
	}
	return agents
}

// TestThreeAgents runs two experiments on the same three agents, as on three
// machines.
func TestThreeAgents(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	agents := p.startAgents(hosts)

	file := p.experiment("many", hosts, "{requests: 5000, key_size: 256, value_size: 1024, clients: 200, connections: 20}")
	c := p.start("control", "--config", file)
	c.exits(exitDone, patience)
	c = p.start("control", "--config", p.experiment("stepped", hosts,
		"{steps: [{clients: 1, requests: 100}, {clients: 20, requests: 1000}]}"))
	c.exits(exitDone, patience)

	if pids := p.members(); len(pids) > 0 {
		t.Errorf("members run after the runs: %v", pids)
	}
	for _, a := range agents {
		a.signal(syscall.SIGTERM)
	}
	for _, a := range agents {
		a.exits(exitDone, patience)
	}

	runs := p.runs()
	if len(runs) != 2 {
		t.Fatalf("%d result folders", len(runs))
	}
	for i, steps := range []int{1, 2} {
		db := manifest(t, runs[i]).Databases[0]
		if db.State != results.StateComplete || len(db.Steps) != steps || db.Totals.OK == 0 || db.Keys.Found() != db.Totals.OK {
			t.Errorf("run %d: %s, %d steps, %+v, %+v", i, db.State, len(db.Steps), db.Totals, db.Keys)
		}
		if i == 0 && db.Totals.OK != 5000 {
			t.Errorf("%d of 5000 requests are ok", db.Totals.OK)
		}
	}
	wantTwoColumns(p, file, runs)
}

// wantTwoColumns analyzes two runs with one database at once.
func wantTwoColumns(p place, file string, runs []*results.Folder) {
	p.t.Helper()
	c := p.start("analyze", "--all", "--config", file, "--out", p.path("both"), runs[0].Dir(), runs[1].Dir())
	c.exits(exitDone, patience)
	wantText(p.t, "table", c.out.String(), `\| +etcd \(built-in\) \| +etcd #2 \(built-in\) \|`, `KEYS-FOUND \| +5,000 / 5,000 ok \|`)
	f, err := os.Open(p.path("both", "all-aggregated.csv"))
	if err != nil {
		p.t.Fatalf("open the file: %v", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 33 || len(rows[0]) != 3 {
		p.t.Errorf("table: %d rows, %v", len(rows), err)
	}
}

// TestAgentStops ends an agent under load: its member stops cleanly, and the run continues without
// it.
func TestAgentStops(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	agents := p.startAgents(hosts)
	second := p.start("agent", "--agent-port", net.JoinHostPort(hosts[0], "3501"), "--work-dir", p.path("agent-"+hosts[0]))
	second.exits(exitFailed, patience)
	wantText(t, "refusal", second.err.String(), `lock work directory .*: another agent uses it`)

	c := p.start("control", "--config", p.experiment("stopped", hosts, "{rate: 100, duration: 18s, clients: 4, timeout: 1s}"))
	c.loading()
	agents[2].signal(syscall.SIGTERM)
	agents[2].exits(exitDone, patience)
	wantText(t, "agent", agents[2].err.String(), `session stopped.*agent closed`)
	if got := len(p.members()); got != 2 {
		t.Errorf("%d members run, want 2", got)
	}
	// Its measurements are lost: that is an error, not only a mark.
	c.exits(exitFailed, patience)
	wantText(t, "control", c.err.String(), `member 3 on `+hosts[2]+`:3500 is lost`, `(?m)^dbtester: etcd: .*agent `+hosts[2]+`:3500: `,
		`(?m)^dbtester: the run is recorded, but not valid:\ndbtester:   etcd: server lost: member 3: `)
	if strings.Contains(c.err.String(), "--local") {
		t.Errorf("a hint for agents that were never there:\n%s", c.err)
	}
	db := manifest(t, p.runs()[0]).Databases[0]
	if db.Totals == nil || db.Totals.OK == 0 || !marked(db, "server lost") {
		t.Errorf("recorded: %+v, %+v", db.Totals, db.Validity)
	}
}

// marked reports whether db has a mark that makes it invalid.
func marked(db *results.DatabaseRun, code string) bool {
	for _, m := range db.Validity {
		if m.Code == code && m.Invalid {
			return true
		}
	}
	return false
}

// TestLeaseExpires kills control: agents stop their members by themselves, and serve
// the next control.
func TestLeaseExpires(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	agents := p.startAgents(hosts, "--lease", "15s")
	file := p.experiment("killed", hosts, "{rate: 100, duration: 1m, clients: 4}")
	c := p.start("control", "--config", file)
	c.loading()
	if got := len(p.members()); got != 3 {
		t.Fatalf("%d members run, want 3", got)
	}
	c.signal(syscall.SIGKILL)
	eventually(t, "no member runs", func() bool { return len(p.members()) == 0 })
	for _, a := range agents {
		a.says(`session stopped.*lease expired`) // after the end of the member: its data is measured between
	}
	if m := manifest(t, p.runs()[0]); m.State != results.StateRunning {
		t.Errorf("the killed run is %s", m.State)
	}
	c = p.start("control", "--config", p.experiment("next", hosts, "{requests: 200, clients: 4}"))
	c.exits(exitDone, patience)
}

// TestSilentAgent uses an agent that accepts connections and never answers.
func TestSilentAgent(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	silent, err := net.Listen("tcp", net.JoinHostPort(hosts[0], "3500"))
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer silent.Close()
	c := p.start("control", "--config", p.experiment("silent", hosts, "{requests: 100, clients: 10}"))
	c.exits(exitFailed, patience)
	wantText(t, "control", c.err.String(), `agent `+hosts[0]+`:3500: no answer within`)
}
