package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/nft"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
)

// cutOff is an experiment in which the members are cut from one another, once completely and
// once in one direction, lose packets, and get packets late.
func cutOff(p place, hosts []string) string {
	return p.file("cut.yaml", fmt.Sprintf(`
title: cut off
results: %s
hosts: [%s]
load: {operation: write, rate: 50, duration: 31s, clients: 30, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults:
- {kind: partition, member: leader, at: 2s, for: 3s}
- {kind: partition, member: leader, at: 10s, for: 2s, direction: out}
- {kind: loss, member: all, at: 17s, for: 2s, loss: 20%%, from: all}
- {kind: partition, member: followers, at: 22s, for: 1s, from: clients}
- {kind: delay, member: follower, at: 26s, for: 2s, by: 20ms, rate: 10Mbit}
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", ")))
}

// file writes a file in the place and returns its path.
func (p place) file(name, text string) string {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.t.Fatalf("write a file for the test: %v", err)
	}
	return p.path(name)
}

// wantFaults starts a run, and checks that this number of faults took hold and are over, and that
// no other fault is recorded. A busy machine may make the load invalid. If it stopped control until
// the load was over, or nothing met a fault, or a disk was full for so long that its member ended,
// all is done again.
func (p place) wantFaults(n int, start func() *command) []faults.Happened {
	p.t.Helper()
	var record *results.DatabaseRun
	var list []faults.Happened
	for chances := 3; ; chances-- {
		c := start()
		eventually(p.t, "the run ends", func() bool {
			select {
			case <-c.ended:
				return true
			default:
				return false
			}
		})
		if code := c.cmd.ProcessState.ExitCode(); code != exitInvalid {
			c.exits(exitDone, patience)
		}
		runs, err := reading.FromFolder(p.runs()[0].Dir())
		if err != nil || len(runs) != 1 {
			p.t.Fatalf("read the records: %d runs, %v", len(runs), err)
		}
		record = runs[0].Info.Record
		list, err = faults.Record().Of(record.Records)
		if err != nil || len(list) > n || len(list) < n && chances == 1 {
			p.t.Fatalf("faults %+v, %v\n%s", list, err, c.err)
		}
		lost := slices.ContainsFunc(record.Validity, func(m results.Mark) bool { return m.Code == mark.Lost })
		if len(list) == n && (chances == 1 || !lost && !slices.ContainsFunc(list, unmet)) {
			break
		}
		p.t.Logf("this machine is busy, so all is done again: want %d faults that were met and no member lost, got %+v, lost %v", n, list, lost)
		if err := os.RemoveAll(p.path("results")); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, h := range list {
		if h.Failed != "" || h.Saw == "" || h.SawOver == "" {
			p.t.Errorf("fault %+v", h)
		}
		p.t.Logf("%s of %s (%s): %s; %s; recovery %+v", h.Kind, h.Target, h.Detail, h.Saw, h.SawOver, h.Recovery)
	}
	for _, m := range record.Validity {
		if m.Code == mark.Lost || m.Code == mark.FaultFailed || m.Code == mark.Keys {
			p.t.Errorf("mark %s: %s", m.Code, m.Text)
		}
	}
	return list
}

// unmet reports whether a fault failed because its member wrote nothing, or no packet came, while it
// lasted: a busy machine may have stopped the member or its clients.
func unmet(h faults.Happened) bool {
	return nothingMet.MatchString(h.Failed)
}

// nothingMet matches such failures of all members.
var nothingMet = regexp.MustCompile(`^((; )?(member \d+: )?(the member made no call that puts writes on disk|none of \d+ packets was (dropped|held)))+$`)

// needFaults skips a test if this machine cannot have these fault kinds.
func needFaults(t *testing.T, kinds ...string) {
	t.Helper()
	for _, name := range kinds {
		if k, err := fault.Find(name); err != nil {
			t.Fatal(err)
		} else if err := k.Possible(); err != nil {
			t.Skipf("needs the fault %s: %v", name, err)
		}
	}
}

// Members that share the addresses of one machine are cut from one another by their control groups.
// Nothing is left afterwards.
func TestPartitionLocal(t *testing.T) {
	notShort(t)
	needFaults(t, "partition", "loss", "delay")
	if p, err := cgroup.FindUnified(resources.Limits{}); err != nil {
		t.Skipf("needs control groups of version 2: %v", err)
	} else if err := p.Check("check", "partition", resources.Limits{}); err != nil {
		t.Skipf("needs control groups of version 2: %v", err)
	}
	t.Parallel()
	p := newPlace(t)
	file := cutOff(p, freeHosts(t))
	p.wantFaults(5, func() *command { return p.start("control", "--local", "--config", file) })
	if names, err := nft.Names(); err != nil || strings.Contains(strings.Join(names, " "), "dbtester-etcd") {
		t.Errorf("tables %q, %v", names, err)
	}
}

// Members on separate machines are cut from one another without control groups, even by an
// unprivileged user in its own namespaces.
func TestPartitionMachines(t *testing.T) {
	notShort(t)
	t.Parallel()
	n := newNetwork(t)
	agents := make([]*command, len(n.hosts))
	for i, host := range n.hosts {
		agents[i] = n.start(n.agents[i], "agent", "--agent-port", host+":3500", "--work-dir", n.p.path("agent-"+host), "--insecure", "--allow-faults", "partition,loss,delay")
	}
	for _, a := range agents {
		a.says("agent listens")
	}
	file := cutOff(n.p, n.hosts)
	n.p.wantFaults(5, func() *command { return n.start(n.client, "control", "--insecure", "--config", file) })
}
