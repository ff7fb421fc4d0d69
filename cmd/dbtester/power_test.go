package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
)

// All members lose their unsynced data at once, and the leader's disk is full. They serve
// again, and nothing is left behind.
func TestPower(t *testing.T) {
	notShort(t)
	if err := owndisk.Check(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	p := newPlace(t)
	file := p.file("power.yaml", fmt.Sprintf(`
title: power
results: %s
hosts: [%s]
load: {operation: write, rate: 50, duration: 17s, clients: 30, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults:
- {kind: power, member: all, at: 2s, for: 500ms}
- {kind: disk, member: leader, at: 9s, for: 500ms, full: true}
- {kind: power, member: leader, at: 13s, for: 500ms}
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(freeHosts(t), ", ")))
	p.wantFaults(3, func() *command { return p.start("control", "--local", "--disk", "loop:256MiB", "--config", file) })
	if mounted, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounted), p.dir) {
		t.Errorf("a disk is still mounted, %v", err)
	}
}

// The disk of the leader is full: each member has a file system mounted for it, as an ordinary user
// may in separate namespaces. All are empty in the end. The dry run refuses faults impossible on
// such disks, with the place of the fault or the name of the flag.
func TestGivenDisk(t *testing.T) {
	notShort(t)
	t.Parallel()
	if !namespacetest.Again(t, syscall.CLONE_NEWNS, 0) {
		return
	}
	p, hosts := newPlace(t), freeHosts(t)
	disks := p.path("disks")
	text := fmt.Sprintf(`
title: full
results: %s
hosts: [%s]
load: {operation: write, rate: 50, duration: 6s, clients: 30, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults:
- {kind: disk, member: leader, at: 2s, for: 500ms, full: true}
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", "))
	file := p.file("full.yaml", text)
	refused := func(want string) {
		t.Helper()
		for _, args := range [][]string{{"--dry-run"}, nil} {
			c := p.start(append([]string{"control", "--local", "--disk", disks, "--config", file}, args...)...)
			eventually(t, "the command ends", func() bool {
				select {
				case <-c.ended:
					return true
				default:
					return false
				}
			})
			if code := c.cmd.ProcessState.ExitCode(); code != exitUsage && code != exitFailed || !strings.Contains(c.err.String(), want) {
				t.Errorf("%q: exit code %d, standard error %s, want %q", args, code, c.err, want)
			}
		}
		_ = os.RemoveAll(p.path("results"))
	}
	refused("--disk: ")
	for _, host := range hosts {
		dir := filepath.Join(disks, host)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	refused("--disk: a file system of its own must be mounted at")
	for _, host := range hosts {
		if err := unix.Mount("tmpfs", filepath.Join(disks, host), "tmpfs", 0, "size=256m"); err != nil {
			t.Fatalf("mount a file system: %v", err)
		}
	}
	p.wantFaults(1, func() *command { return p.start("control", "--local", "--disk", disks, "--config", file) })
	for _, host := range hosts {
		if left, err := os.ReadDir(filepath.Join(disks, host)); err != nil || len(left) > 0 {
			t.Errorf("left on the disk of %s: %v, %v", host, left, err)
		}
		if err := unix.Unmount(filepath.Join(disks, host), 0); err != nil {
			t.Errorf("unmount the disk: %v", err)
		}
	}
}
