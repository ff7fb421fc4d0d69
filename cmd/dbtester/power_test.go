package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/fault/owndisk"
)

// All members lose what is not on their disks, at once, and the leader's disk is full. They
// serve again, and nothing is left of it.
func TestPower(t *testing.T) {
	notShort(t)
	if err := owndisk.Check(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	p := newPlace(t)
	c := p.start("control", "--local", "--disk", "loop:256MiB", "--config", p.file("power.yaml", fmt.Sprintf(`
title: power
results: %s
hosts: [%s]
load: {operation: write, rate: 50, duration: 20s, clients: 30, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults:
- {kind: power, member: all, at: 2s, for: 500ms}
- {kind: disk, member: leader, at: 9s, for: 500ms, full: true}
- {kind: power, member: leader, at: 13s, for: 500ms}
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(freeHosts(t), ", "))))
	p.wantFaults(c, 3)
	if mounted, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounted), p.dir) {
		t.Errorf("a disk is still mounted, %v", err)
	}
}
