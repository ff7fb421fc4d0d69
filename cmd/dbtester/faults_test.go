package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/mark"
)

// TestFaultsAsNobody applies every kind of fault to members of the built-in etcd, as a user without
// rights. A busy machine may make the load invalid, but no fault fails, no member is lost, and
// nothing is left behind.
func TestFaultsAsNobody(t *testing.T) {
	notShort(t)
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	t.Parallel()
	house, hosts := openHouse(t), freeHosts(t)
	if err := errors.Join(os.Mkdir(filepath.Join(house, "own"), 0o700), os.Chown(filepath.Join(house, "own"), nobody, nobody)); err != nil {
		t.Fatalf("furnish the folder: %v", err)
	}
	var list []faults.Happened
	for _, length := range []time.Duration{17 * time.Second, 28 * time.Second, 28 * time.Second} { // longer if something stopped control or a member
		if list = faultsAsNobody(t, house, hosts, length); len(list) == 5 && !slices.ContainsFunc(list, unmet) {
			break
		}
		t.Logf("this machine is busy: want five faults that were met, got %+v", list)
	}
	if len(list) != 5 {
		t.Fatalf("faults %+v, want five", list)
	}
	for _, h := range list {
		if h.Failed != "" || h.Saw == "" || h.SawOver == "" {
			t.Errorf("fault %+v", h)
		}
	}
	for pid, args := range (place{t, house}).processes("") {
		t.Errorf("process %d is left over: %s", pid, args)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// faultsAsNobody runs a load with five faults for some time as a user without rights, and returns
// the faults that happened. No member may be lost.
func faultsAsNobody(t *testing.T, house string, hosts []string, length time.Duration) []faults.Happened {
	t.Helper()
	file, results := filepath.Join(house, "faults.yaml"), filepath.Join(house, "own", "results")
	if err := os.RemoveAll(results); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`
title: faults
results: %s
hosts: [%s]
load: {operation: write, rate: 50, duration: %v, clients: 9, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults:
- {kind: pause, member: leader, at: 2s, for: 300ms}
- {kind: disk, member: leader, at: 5s, for: 500ms, fsync: stall}
- {kind: disk, member: leader, at: 8s, for: 500ms, fsync: 20ms}
- {kind: kill, member: leader, at: 11s, for: 300ms}
- {kind: restart, member: 2, at: 14s}
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, results, strings.Join(hosts, ", "), length)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	out, err := asNobody(t, filepath.Join(house, "own"), filepath.Join(house, "dbtester"), "control", "--local", "--config", file)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitInvalid) {
		t.Fatalf("run: %v\n%s", err, out)
	}
	folders, err := filepath.Glob(filepath.Join(results, "*", "*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("result folders %q, %v\n%s", folders, err, out)
	}
	runs, err := reading.FromFolder(folders[0])
	if err != nil || len(runs) != 1 {
		t.Fatalf("read the records: %d runs, %v", len(runs), err)
	}
	record := runs[0].Info.Record
	list, err := faults.Record().Of(record.Records)
	if err != nil {
		t.Fatalf("read the faults: %v\n%s", err, out)
	}
	for _, m := range record.Validity {
		if m.Code == mark.Lost || m.Code == mark.FaultFailed && !slices.ContainsFunc(list, unmet) || m.Code == mark.Keys {
			t.Errorf("mark %s: %s", m.Code, m.Text)
		}
	}
	return list
}
