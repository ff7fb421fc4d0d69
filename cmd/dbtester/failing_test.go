package main

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestMembersKilled kills the whole cluster under a load: every later request fails
// quickly, and is counted by its class.
func TestMembersKilled(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	file := p.experiment("killed", hosts, "{requests: 1000000, clients: 2, timeout: 60s}")
	c := p.start("control", "--local", "--config", file)
	c.loading()
	for _, pid := range p.members() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("send the signal: %v", err)
		}
	}
	c.exits(exitInvalid, patience)
	p.tidy()
	wantText(t, "control", c.err.String(), `dbtester: the run is recorded, but not valid`, `(?m)^dbtester:   etcd: server lost: member 1: .*killed by SIGKILL$`, `(?m)^dbtester:   etcd: server lost: member 3: .*killed by SIGKILL$`)
	run := p.runs()[0]
	db := manifest(t, run).Databases[0]
	if tot := db.Totals; tot.Offered >= 1000000 || !tot.Reconcile() || tot.OK == 0 || tot.Failed+tot.Unknown > 100 {
		t.Errorf("a load without members must end early, and its clients must wait instead of failing requests; totals %+v", tot)
	}
	c = p.start("analyze", "--all", "--config", file, run.Dir())
	c.exits(exitDone, patience)
	wantText(t, "table", c.out.String(), `INVALID server lost`, `etcd errors:\n`, `"(unavailable|connection lost)" \(count [0-9]+\), first: `, `CLIENT-ERROR-COUNT \| +[0-9]+ `)
}

// TestDeadEndpoint sends a load to a port without a server.
func TestDeadEndpoint(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p := newPlace(t)
	endpoint := net.JoinHostPort(freeHosts(t)[0], "2379")
	file := p.path("dead.yaml")
	text := `title: dead
results: ` + p.path("results") + `
load: {requests: 100, clients: 10, timeout: 200ms}
steps: {start: false, stop: false}
databases:
  etcd: {endpoints: ['` + endpoint + `']}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	c := p.start("control", "--full-speed", "--config", file)
	c.exits(exitFailed, patience)
	wantText(t, "control", c.err.String(), endpoint+`.*connection refused`)
	if strings.Count(c.err.String(), "connection refused") > 3 {
		t.Errorf("the same is said again and again:\n%s", c.err)
	}
	if m := manifest(t, p.runs()[0]); m.State != results.StateFailed {
		t.Errorf("the run is %s", m.State)
	}
}
