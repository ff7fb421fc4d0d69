package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/databasetest/matrix"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// cutOffFor is how long control and an agent cannot reach each other: longer than the agent lease,
// and longer than three heartbeats take to fail.
const cutOffFor = 20 * time.Second

// TestCutOff cuts one agent off from control during a load. The member is lost and named, and the
// others serve the load to its end. All records are collected, nothing is left on the machine that
// was cut off, and the next run works.
func TestCutOff(t *testing.T) {
	notShort(t)
	t.Parallel()
	table := matrix.New(t, "partition", fmt.Sprintf("A partition of %v", cutOffFor))
	n := newNetwork(t)
	p := n.p
	for i, host := range n.hosts {
		a := n.start(n.agents[i], "agent", "--agent-port", host+":3500", "--work-dir", p.path("agent-"+host), "--insecure")
		a.says("agent listens")
	}
	file := p.experiment("partition", n.hosts, "{rate: 50, duration: 40s, clients: 6, key_size: 16, value_size: 64, timeout: 2s}")
	c := n.start(n.client, "control", "--config", file, "--insecure")
	c.loading()
	n.in(n.agents[1], "ip", "route", "add", "blackhole", "10.77.0.1/32")
	time.Sleep(cutOffFor)
	n.in(n.agents[1], "ip", "route", "del", "blackhole", "10.77.0.1/32")
	c.exits(exitInvalid, patience)
	db := manifest(t, p.runs()[0]).Databases[0]
	lost := slices.IndexFunc(db.Validity, func(m results.Mark) bool { return m.Code == mark.Lost })
	if db.State != results.StateComplete || lost < 0 || !strings.Contains(db.Validity[lost].Text, "member 2") {
		t.Fatalf("the run is %s with error %q and marks %+v, want it complete without member 2", db.State, db.Error, db.Validity)
	}
	for i, m := range db.Members {
		if len(m.Files) == 0 {
			t.Errorf("no files of member %d are collected: %q", i+1, m.Error)
		}
	}
	if left := p.members(); len(left) > 0 {
		t.Errorf("members still run: pids %v", left)
	}
	for _, host := range n.hosts {
		if left, err := filepath.Glob(p.path("agent-"+host, "etcd-*")); err != nil || len(left) > 0 {
			t.Errorf("the agent on %s has %q left, error %v", host, left, err)
		}
	}
	c = n.start(n.client, "control", "--config", p.experiment("next", n.hosts, "{requests: 100, clients: 6, key_size: 16, value_size: 64}"), "--insecure")
	eventually(t, "the next run ends", func() bool {
		select {
		case <-c.ended:
			return true
		default:
			return false
		}
	})
	runs := p.runs()
	next := manifest(t, runs[len(runs)-1]).Databases[0]
	if next.State != results.StateComplete || next.Totals == nil || next.Totals.OK != 100 {
		t.Errorf("the next run is %s with error %q", next.State, next.Error)
	}
	table.Add(t, matrix.Row{
		Step: "loading", Done: fmt.Sprintf("cut agent 2 off from control for %v", cutOffFor),
		Ended: fmt.Sprintf("%s, %s: %s", db.State, mark.Lost, db.Validity[lost].Text), Next: string(next.State),
	})
}
