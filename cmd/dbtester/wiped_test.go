package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/mark"
)

// TestWipedMembers: two etcd members out of three restart with empty data directories during a
// load, and the third is gone. Acknowledged writes are lost: the answers show it, keys that are
// read back are missing, and the command prints both.
func TestWipedMembers(t *testing.T) {
	notShort(t)
	t.Parallel()
	p := newPlace(t)
	hosts := freeHosts(t)
	c := p.start("control", "--local", "--config", p.file("wiped.yaml", fmt.Sprintf(`
title: wiped
results: %s
hosts: [%s]
load: {mix: {read: 30, update: 40, write: 30}, keys: 300, rate: 100, duration: 32s, clients: 60, connections: 9, key_size: 16, value_size: 32, timeout: 1s, failover: next}
consistency: true
faults:
- {kind: kill, member: 1, at: 4s, for: 15s, overlap: true}
- {kind: kill, member: 2, at: 4s, for: 15s, overlap: true}
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", "))))
	c.says(`wait for a quorum`) // every member has been started, and the faults are seconds away
	before := p.processes(" serve etcd ")
	if len(before) != 3 {
		t.Fatalf("members %v, want three", before)
	}
	eventually(t, "two members are killed", func() bool { return len(p.members()) == 1 })
	c.signal(syscall.SIGSTOP) // it holds the agents, which start no member meanwhile
	left := p.processes(" serve etcd ")
	if len(left) != 1 {
		t.Fatalf("members %v, want one", left)
	}
	for pid, args := range before {
		if left[pid] == args {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatalf("kill the third member: %v", err)
			}
			continue
		}
		p.wipe(args)
	}
	c.signal(syscall.SIGCONT)
	c.exits(exitInvalid, patience)

	folder := p.runs()[0].Dir()
	runs, err := reading.FromFolder(folder)
	if err != nil || len(runs) != 1 {
		t.Fatalf("read the records: %d runs, %v", len(runs), err)
	}
	record := runs[0].Info.Record
	v, err := consistency.Record().Of(record.Records)
	if err != nil || v.Counts.Lost == 0 || v.Held == nil || v.Held.Gone == 0 || v.Held.Read != v.Held.Keys {
		t.Fatalf("the verdict is %+v, %v with keys %+v: want answers and keys that are lost", v, err, v.Held)
	}
	marks := map[string]bool{}
	for _, m := range record.Validity {
		marks[m.Code] = true
	}
	if !marks[mark.NotLinearizable] || !marks[mark.LostWrites] {
		t.Errorf("marks %+v", record.Validity)
	}
	show := p.start("consistency", folder)
	show.exits(exitDone, patience)
	out := show.out.String()
	for _, pattern := range []string{
		fmt.Sprintf(`LOST-WRITES: [0-9,]+: [0-9,]+ an older value, %d not there, of [0-9,]+ keys`, v.Held.Gone),
		`LINEARIZABLE: [0-9,]+ violations among .*not found [0-9]+`, `key [0-9]+: not found.*\. The key was missing when request .*\. Value -?[0-9]+ was .*\. Nothing deleted it\.`,
	} {
		if !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("dbtester consistency prints no %s:\n%s", pattern, out)
		}
	}
	checkWitnessFile(t, filepath.Join(folder, record.Tag, consistency.FileWitness))
}

// wipe empties the data directory named in member arguments.
func (p place) wipe(args string) {
	p.t.Helper()
	_, dir, found := strings.Cut(args, "--data-dir=")
	dir, _, _ = strings.Cut(dir, " ")
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	if !found || err != nil || len(entries) == 0 || !strings.HasPrefix(dir, p.dir) {
		p.t.Fatalf("the data directory %q of %s has %q, %v", dir, args, entries, err)
	}
	for _, path := range entries {
		if err := os.RemoveAll(path); err != nil {
			p.t.Fatalf("wipe a member: %v", err)
		}
	}
}

// checkWitnessFile checks a witness file with independent JSON parsing: each of two values has a
// request that ended before a request for the other was sent.
func checkWitnessFile(t *testing.T, path string) {
	t.Helper()
	type event struct {
		At *int64 `json:"at_ns"`
	}
	type value struct {
		Before, Absent     bool
		FirstEnd, LastSent *event
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the witnesses: %v", err)
	}
	pairs := 0
	for line := range strings.Lines(strings.NewReplacer(`"first_end"`, `"FirstEnd"`, `"last_sent"`, `"LastSent"`).Replace(string(data))) {
		var w struct{ Older, Newer *value }
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if w.Newer == nil {
			continue
		}
		pairs++
		// A request for second was sent after first existed. No request in this load removes a key,
		// so a missing key comes before all its values.
		after := func(first, second *value) bool {
			return first.Before || first.Absent || first.FirstEnd != nil && second.LastSent != nil && *first.FirstEnd.At < *second.LastSent.At
		}
		if !after(w.Older, w.Newer) || !after(w.Newer, w.Older) {
			t.Errorf("the two values do not exclude each other: %s", line)
		}
	}
	if pairs == 0 {
		t.Errorf("no witness of two values in %s", data)
	}
}
