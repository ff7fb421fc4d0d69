package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/consistency"
	judge "github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/consistency/recheck"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// hardHistory has a violation that shows only after all orders of concurrent writes are tried.
func hardHistory(key int64) judge.History {
	const writes = 64
	h := judge.History{Key: key, Initial: judge.Absent, Until: judge.Whole}
	for n := range int64(writes) {
		h.Ops = append(h.Ops, judge.Op{Key: key, Request: n + 1, Sent: 1, End: 1000, Kind: judge.Write})
	}
	for n := range int64(writes) {
		h.Ops = append(h.Ops, judge.Op{Key: key, Request: writes + n + 1, Sent: 2, End: 1000, Kind: judge.Read, Read: n + 1, Known: true})
	}
	h.Ops = append(h.Ops, judge.Op{Key: key, Request: 2*writes + 1, Sent: 2000, End: 2001, Kind: judge.Read, Outcome: judge.NotFound})
	return h
}

// shortHistory writes and reads a value.
func shortHistory(key, read, violations int64) judge.History {
	return judge.History{Key: key, Initial: -7, Until: judge.Whole, Violations: violations, Ops: []judge.Op{
		{Key: key, Request: 1, Sent: 1, End: 2, Kind: judge.Write},
		{Key: key, Request: 2, Sent: 3, End: 4, Kind: judge.Read, Read: read, Known: true},
	}}
}

// TestRecheck: children check the recorded requests on each key within limits, and differences from
// the verdict of the run are reported.
func TestRecheck(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	self, err := exec.LookPath("dbtester")
	if err != nil {
		t.Fatal(err)
	}
	const memory = 256 << 20
	for name, c := range map[string]struct {
		histories []judge.History
		limits    limits
		want      string
		differ    int
	}{
		"none": {nil, limits{time.Minute, memory}, "  PORCUPINE: no requests are recorded: consistency_sample says of how many keys they are\n", 0},
		"both agree": {[]judge.History{shortHistory(3, 1, 0), shortHistory(4, -7, 1)}, limits{time.Minute, memory},
			"  PORCUPINE: of 2 keys with 4 recorded requests, 1 ok, 1 with a violation, 0 unknown\n", 0},
		"they differ": {[]judge.History{shortHistory(3, 1, 2), shortHistory(4, -7, 0)}, limits{time.Minute, memory},
			"  PORCUPINE: of 2 keys with 4 recorded requests, 1 ok, 1 with a violation, 0 unknown\n" +
				"    DIFFERENCE: a: key 3: the run found 2 violations, and Porcupine an order of all its 2 requests\n" +
				"    DIFFERENCE: a: key 4: Porcupine finds no order of its 2 requests, and the run found no violation\n", 2},
		"too long": {[]judge.History{hardHistory(5)}, limits{200 * time.Millisecond, 4 << 30},
			"  PORCUPINE: of 1 key with 129 recorded requests, 0 ok, 0 with a violation, 1 unknown\n    key 5 with 129 requests: unknown: more than 200ms\n", 0},
		"too large": {[]judge.History{hardHistory(5), shortHistory(6, 1, 0)}, limits{patience, memory},
			"  PORCUPINE: of 2 keys with 131 recorded requests, 1 ok, 0 with a violation, 1 unknown\n    key 5 with 129 requests: unknown: more than 256 MiB of memory\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := consistency.WriteHistories(filepath.Join(dir, consistency.FileHistory), c.histories); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			a := &app{streams: streams{out: &out}, self: []string{self}}
			differing, err := a.recheck(t.Context(), dir, &results.DatabaseRun{Tag: "a"}, c.limits)
			if err != nil || out.String() != c.want || len(differing) != c.differ {
				t.Errorf("got %v and %q:\n%s\nwant\n%s", err, differing, &out, c.want)
			}
		})
	}
}

// TestRecheckKey: a key that is not recorded, and a record with missing requests.
func TestRecheckKey(t *testing.T) {
	t.Parallel()
	self, err := exec.LookPath("dbtester")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), consistency.FileHistory)
	broken := shortHistory(3, 1, 0)
	broken.Missing = 4
	if err := consistency.WriteHistories(path, []judge.History{broken}); err != nil {
		t.Fatal(err)
	}
	l := limits{time.Minute, 256 << 20}
	if r, err := recheckKey(t.Context(), self, path, 3, l); err != nil || r != (rechecked{recheck.Unknown, "4 requests are not recorded"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := recheckKey(t.Context(), self, path, 4, l); err == nil || !strings.Contains(err.Error(), "has no key 4") {
		t.Errorf("an unknown key: %v", err)
	}
}

// TestRecheckKeyAlone: if the standard input of a child ends, as when its parent was killed, the
// child ends without a verdict.
func TestRecheckKeyAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), consistency.FileHistory)
	if err := consistency.WriteHistories(path, []judge.History{hardHistory(5)}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dbtester", "recheck-key", path, "5", "1h", "4000000000")
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := input.Close(); err != nil {
		t.Error(err)
	}
	hung := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()
	if err := cmd.Wait(); err == nil || !strings.Contains(failed.String(), errOrphan.Error()) || out.Len() > 0 {
		t.Errorf("without standard input the child ended with %v, printed %q and %q, want the error %q", err, &out, &failed, errOrphan)
	}
}

// TestSampledRun: requests on three keys in an etcd run are recorded, and Porcupine agrees with the
// verdict. The limits are checked before anything else.
func TestSampledRun(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p := newPlace(t)
	p.start("consistency", "no-such-run", "--porcupine-memory", "1MiB").exits(exitUsage, patience)
	p.start("consistency", "no-such-run", "--porcupine-time", "0s").exits(exitUsage, patience)
	c := p.start("control", "--local", "--config", p.file("sampled.yaml", fmt.Sprintf(`
title: sampled
results: %s
hosts: [%s]
load: {mix: {read: 45, update: 45, delete: 10}, keys: 20, key_law: uniform, requests: 3000, clients: 20, key_size: 16, value_size: 32, timeout: 60s}
consistency: true
consistency_sample: 3
plots: [AVG-THROUGHPUT]
databases: {etcd: {options: {log_level: error}}}
`, p.path("results"), freeHosts(t)[0])))
	c.exits(exitDone, patience)
	show := p.start("consistency", p.runs()[0].Dir(), "--porcupine")
	show.exits(exitDone, patience)
	wantText(t, "dbtester consistency --porcupine", show.out.String(),
		`LINEARIZABLE: no violation among all 3,000`, `the requests on 3 keys are recorded in history.jsonl`, `PORCUPINE: of 3 keys with [0-9]+ recorded requests, 3 ok, 0 with a violation, 0 unknown`)

	history := p.runs()[0].Path("etcd", consistency.FileHistory)
	if err := errors.Join(os.Remove(history), consistency.WriteHistories(history, []judge.History{hardHistory(5)})); err != nil {
		t.Fatal(err)
	}
	killed := p.start("consistency", p.runs()[0].Dir(), "--porcupine", "--porcupine-time", "1h", "--porcupine-memory", "4GiB")
	eventually(t, "the child of Porcupine to start", func() bool { return len(p.processes(" recheck-key ")) == 1 })
	killed.signal(syscall.SIGKILL)
	<-killed.ended
	eventually(t, "the child to end with its parent", func() bool { return len(p.processes(" recheck-key ")) == 0 })
}
