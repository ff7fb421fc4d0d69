package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// issuers are generators on separate machines, with a ledger on control's machine.
type issuers struct {
	*network
	agents []*command
	ledger string   // its file
	serves []string // its addresses
	taps   []string // files with the streams from the generators
	addrs  []string // the generators', as control calls them
}

// newIssuers starts n generators, whose streams are tapped, and the ledger.
func newIssuers(t *testing.T, n int) *issuers {
	t.Helper()
	s := &issuers{network: newNetworkOf(t, n+1)} // the last machine has the wiretaps
	p, far := s.p, s.network.agents[n]
	s.hosts = s.hosts[:n]
	s.ledger = p.path("ledger.txt")
	s.serve(s.client, "10.77.0.1", s.ledger)
	s.startAgents()
	for i, host := range s.hosts {
		tap, file := fmt.Sprintf("10.77.0.%d", 101+i), p.path("tap-"+host)
		s.in(far, "ip", "addr", "add", tap+"/24", "dev", fmt.Sprintf("far%d", n))
		s.run("wiretap", far, tap+":3500", host+":3500", file).says("listens")
		s.addrs, s.taps = append(s.addrs, tap), append(s.taps, file)
	}
	return s
}

// serve starts the ledger in the namespaces of a process.
func (s *issuers) serve(pid int, host, file string) *command {
	s.p.t.Helper()
	for i := range 3 {
		s.serves = append(s.serves, fmt.Sprintf("%s:%d", host, 2379+i))
	}
	c := s.run("ledger", pid, append([]string{file}, s.serves...)...)
	c.says("listens")
	return c
}

// startAgents starts the agents that issue loads.
func (s *issuers) startAgents() {
	s.p.t.Helper()
	for i, host := range s.hosts {
		a := s.start(s.network.agents[i], "agent", "--agent-port", host+":3500", "--work-dir", s.p.path("agent-"+host), "--insecure", "--allow-load", "--allow-targets", "10.0.0.0/8,127.0.0.0/8")
		s.agents = append(s.agents, a)
	}
	for _, a := range s.agents {
		a.says("agent listens")
	}
}

// run starts the program of this test in the namespaces of a process.
func (s *issuers) run(program string, pid int, args ...string) *command {
	s.p.t.Helper()
	line := append(s.inside(pid), program)
	return s.p.launch(line[0], append(line[1:], args...)...)
}

// control starts control with a load on the ledger.
func (s *issuers) control(load string) *command {
	s.p.t.Helper()
	text := fmt.Sprintf("title: generators\nresults: %s\nload: %s\ndatabases:\n  etcd: {endpoints: [%s], prefix: shown}\n", s.p.path("results"), load, strings.Join(s.serves, ", "))
	if len(s.addrs) > 0 {
		text = fmt.Sprintf("generators: [%s]\n", strings.Join(s.addrs, ", ")) + text
	}
	file := s.p.path("experiment.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.p.t.Fatalf("write a file for the test: %v", err)
	}
	return s.start(s.client, "control", "--config", file, "--insecure")
}

// record is the result of the only run, and its folder.
func (s *issuers) record() (*results.DatabaseRun, string) {
	s.p.t.Helper()
	runs := s.p.runs()
	if len(runs) != 1 {
		s.p.t.Fatalf("%d runs are on record, want one", len(runs))
	}
	db := manifest(s.p.t, runs[0]).Databases[0]
	return db, runs[0].Path(db.Tag)
}

// requests returns the requests in the ledger without those for the prefix claim, which control
// renews periodically.
func (s *issuers) requests() []entry {
	s.p.t.Helper()
	return slices.DeleteFunc(readLedger(s.p.t, s.ledger), func(e entry) bool { return strings.Contains(e.Request, database.ClaimKey) })
}

// sent counts the requests in the ledger, from any sender.
func (s *issuers) sent() map[string]int {
	sent := map[string]int{}
	for _, e := range s.requests() {
		sent[e.Request]++
	}
	return sent
}

// TestGeneratorsInNamespaces: two and four generators on separate machines send the same requests
// as one machine would, and the files unite their streams, byte for byte.
func TestGeneratorsInNamespaces(t *testing.T) {
	notShort(t)
	t.Parallel()
	const load = "{mix: {write: 50, update: 30, read: 20}, keys: 40, key_size: 16, value_size: 64, clients: 12, connections: 6, rate: 400, duration: 3s, timeout: 60s, drain: 60s}\n" +
		"consistency: false # no reading back, as keys that generators share are not judged"
	all := map[int]map[string]int{}
	t.Run("runs", func(t *testing.T) {
		for _, n := range []int{0, 2, 4} {
			sent := map[string]int{}
			all[n] = sent
			t.Run(fmt.Sprintf("%d generators", n), func(t *testing.T) {
				t.Parallel()
				s, c, db, dir := issueOn(t, n, load, func(*issuers, *command) {})
				if code := c.cmd.ProcessState.ExitCode(); code != exitInvalid { // a busy machine is marked
					c.exits(exitDone, patience)
				}
				if db.Totals == nil || db.Totals.Offered != 1200 || db.Totals.OK != 1200 || db.State != results.StateComplete {
					t.Fatalf("the run: %s, %+v, want 1200 requests\n%s%s", db.State, db.Totals, c.out, c.err)
				}
				maps.Copy(sent, s.sent())
				if n > 0 {
					sameFiles(t, dir, unionOf(t, s.taps))
					s.wantTogether(db)
				}
			})
		}
	})
	for _, n := range []int{2, 4} {
		if len(all[0]) < 900 || !maps.Equal(all[0], all[n]) {
			t.Errorf("%d generators sent %d different requests, want the %d of one machine, each as often", n, len(all[n]), len(all[0]))
		}
	}
}

// issueOn makes n generators issue a load, does something meanwhile, and waits until control ends.
// It retries if the machine was too busy for a generator to begin in time.
func issueOn(t *testing.T, n int, load string, meanwhile func(*issuers, *command)) (*issuers, *command, *results.DatabaseRun, string) {
	t.Helper()
	for chances := 3; ; chances-- {
		s := newIssuers(t, n)
		c := s.control(load)
		meanwhile(s, c)
		select {
		case <-c.ended:
		case <-time.After(patience):
			t.Fatalf("control did not end within %v", patience)
		}
		db, dir := s.record()
		if !beganLate(db) || chances == 1 {
			return s, c, db, dir
		}
		t.Log("this machine is busy: a generator did not begin in time, so all is done again")
	}
}

// beganLate reports whether a generator was lost because it could not begin a step in time.
func beganLate(db *results.DatabaseRun) bool {
	return slices.ContainsFunc(db.Generators, func(g results.Generator) bool { return strings.Contains(g.Lost, "it did not begin step") })
}

// wantTogether checks that the generators in a run with rate 400 began together: by their own
// clocks, and by that of the ledger. The first request in part p is due p requests later.
func (s *issuers) wantTogether(db *results.DatabaseRun) {
	t := s.p.t
	t.Helper()
	const gap = int64(time.Second / 400)
	n := len(s.hosts)
	measured := firstOf(s.requests(), 40) // after the keys before the load
	var own, seen []int64
	for i, g := range db.Generators {
		if g.Lost != "" || g.Clock == nil || len(g.Steps) != 1 || g.Steps[0].FirstSentNS < 0 || g.Steps[0].ClockErrorNS <= 0 {
			t.Fatalf("generator %d: %+v, want its clock, and when it first sent", i+1, g)
		}
		at, found := measured[s.hosts[i]]
		if !found {
			t.Fatalf("the ledger has no request of %s", s.hosts[i])
		}
		own = append(own, g.Steps[0].FirstSentNS-int64(i)*gap)
		seen = append(seen, at-int64(i)*gap)
		t.Logf("generator %d of %d: clock known to %v, first request %v late", i+1, n, time.Duration(g.Steps[0].ClockErrorNS), time.Duration(own[i]))
	}
	skew := time.Duration(slices.Max(own) - slices.Min(own))
	atServer := time.Duration(slices.Max(seen) - slices.Min(seen))
	t.Logf("%d generators began within %v by their own clocks, and within %v by the server's", n, skew, atServer)
	if atServer > patience { // a busy machine delays processes
		t.Errorf("the generators began %v apart, want together", atServer)
	}
}

// firstOf returns when the first request from each machine came, after the given number in all.
func firstOf(entries []entry, before int) map[string]int64 {
	first := map[string]int64{}
	for i, e := range entries {
		if _, found := first[e.From]; i >= before && !found {
			first[e.From] = e.At
		}
	}
	return first
}

// sameFiles compares the merged files with the union, line by line in sorted order.
func sameFiles(t *testing.T, dir string, u *union) {
	t.Helper()
	other := t.TempDir()
	u.write(t, other)
	for _, name := range load.FileNames() {
		got, want := canonical(t, dir, name), canonical(t, other, name)
		if len(got) < 2 && name != results.FileErrors || !slices.Equal(got, want) {
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("%s: %d lines, want the %d of the union; the first that differs:\n%q\n%q", name, len(got), len(want), slices.Concat(got[min(i, len(got)):], []string{""})[0], slices.Concat(want[min(i, len(want)):], []string{""})[0])
					break
				}
			}
		}
	}
}

// canonical returns the lines of a file in sorted order, without comments.
func canonical(t *testing.T, dir, name string) []string {
	t.Helper()
	if name == results.FileProgress { // late records add a row for their tick: readers add up
		rows, err := results.ReadProgress(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("read the ticks: %v", err)
		}
		return ticksOf(rows)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	lines := strings.Split(string(data), "\n")
	slices.Sort(lines)
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") })
}

// TestGeneratorKilled: one generator out of two is killed. It is named, and the other's records are
// complete.
func TestGeneratorKilled(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const load = "{operation: write, key_size: 16, value_size: 64, clients: 8, connections: 4, rate: 200, duration: 15s, timeout: 60s, drain: 60s}"
	s, c, db, _ := issueOn(t, 2, load, func(s *issuers, c *command) {
		if s.sends(c, 1) {
			s.agents[1].signal(syscall.SIGKILL)
		}
	})
	c.exits(exitInvalid, patience)
	s.wantLost(db, 1, "its stream broke")
	s.wantWhole(db, 0, 1500)
}

// sends waits until the ledger has a request from a generator. It returns false if control ended
// earlier.
func (s *issuers) sends(c *command, n int) (sends bool) {
	s.p.t.Helper()
	eventually(s.p.t, "the generator sends", func() bool {
		select {
		case <-c.ended:
			return true
		default:
		}
		if _, err := os.Stat(s.ledger); err == nil {
			_, sends = firstOf(readLedger(s.p.t, s.ledger), 0)[s.hosts[n]]
		}
		return sends
	})
	return sends
}

// wantLost checks that generator n is named as lost, and why.
func (s *issuers) wantLost(db *results.DatabaseRun, n int, why string) {
	t := s.p.t
	t.Helper()
	if g := db.Generators[n]; !strings.Contains(g.Lost, why) {
		t.Errorf("generator %d is lost by %q, want %q", n+1, g.Lost, why)
	}
	if !slices.ContainsFunc(db.Validity, func(m results.Mark) bool {
		return m.Code == mark.GeneratorLost && m.Invalid && strings.Contains(m.Text, s.addrs[n])
	}) {
		t.Errorf("marks %+v, want one that names generator %s", db.Validity, s.addrs[n])
	}
}

// wantWhole checks that generator n issued that many requests, all answered.
func (s *issuers) wantWhole(db *results.DatabaseRun, n int, requests int64) {
	s.p.t.Helper()
	if g := db.Generators[n]; g.Lost != "" || g.Totals == nil || g.Totals.Offered != requests || !g.Totals.Reconcile() {
		s.p.t.Errorf("generator %d: lost %q, totals %+v, want %d requests with an outcome each", n+1, g.Lost, g.Totals, requests)
	}
}

// TestGeneratorFaults: among four generators one is killed, one is paused, and one gets a tenth of
// the CPU time, as with a quota in its control group. Each is named, and the requests by the others
// and the slow one are complete. It takes half a minute: make generators.
func TestGeneratorFaults(t *testing.T) {
	if os.Getenv("DBTESTER_GENERATOR_FAULTS") == "" {
		t.Skip("it takes half a minute: make generators")
	}
	t.Parallel()
	const load = "{operation: write, key_size: 16, value_size: 64, clients: 16, connections: 8, rate: 400, duration: 24s, timeout: 60s, drain: 60s}"
	s, c, db, dir := issueOn(t, 4, load, func(s *issuers, c *command) {
		for n := range 4 {
			if !s.sends(c, n) {
				break
			}
		}
		s.agents[1].signal(syscall.SIGKILL)
		s.agents[2].signal(syscall.SIGSTOP)
		s.slow(c, s.agents[3])
		s.agents[2].signal(syscall.SIGCONT)
	})
	c.exits(exitInvalid, patience)
	s.wantLost(db, 1, "its stream broke")
	s.wantLost(db, 2, "3 heartbeats in a row failed")
	s.wantWhole(db, 0, 2400)
	s.wantWhole(db, 3, 2400)
	g := db.Generators[3]
	if g.Stops == nil || g.Stops.TotalNS < int64(5*time.Second) || g.Steps[0].Late == 0 {
		t.Errorf("the slow generator: stops %+v, step %+v, want that it stood still and sent late", g.Stops, g.Steps[0])
	}
	for _, m := range db.Validity {
		t.Logf("mark %s (invalid %v): %s", m.Code, m.Invalid, m.Text)
	}
	if !slices.ContainsFunc(db.Validity, func(m results.Mark) bool {
		return m.Code != mark.GeneratorLost && m.Code != mark.SharedHost && strings.HasPrefix(m.Text, "generator "+s.addrs[3])
	}) {
		t.Errorf("no mark names the slow generator %s\n%s", s.addrs[3], c.err)
	}
	rows, err := results.ReadIntervals(filepath.Join(dir, results.FileIntervals))
	if err != nil {
		t.Fatalf("read the seconds: %v", err)
	}
	sum := int64(0)
	for _, r := range rows {
		sum += r.OK
	}
	parts := int64(0)
	for _, g := range db.Generators {
		if g.Totals != nil { // one may be lost before its first second
			parts += g.Totals.OK
		}
	}
	if sum != parts || sum != db.Totals.OK || sum < 4800 {
		t.Errorf("%d requests are in the seconds, %d in the generators' totals, %d in the run's: want all that came", sum, parts, db.Totals.OK)
	}
}

// slow stops a process nine tenths of the time until control ends.
func (s *issuers) slow(c *command, process *command) {
	stopped := false
	for {
		length := 100 * time.Millisecond
		signal := syscall.SIGCONT
		if stopped = !stopped; stopped {
			length, signal = 900*time.Millisecond, syscall.SIGSTOP
		}
		process.signal(signal)
		select {
		case <-c.ended:
			process.signal(syscall.SIGCONT)
			return
		case <-time.After(length):
		}
	}
}
