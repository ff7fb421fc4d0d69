package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// TestScale measures the throughput of 1, 2, 4 and 8 generators together on this machine, and how
// much control uses for them, and writes a table into the file DBTESTER_SCALE: make scale. It
// asserts no speeds.
func TestScale(t *testing.T) {
	to := os.Getenv("DBTESTER_SCALE")
	if to == "" {
		t.Skip("it takes minutes: make scale")
	}
	commit, err := exec.CommandContext(t.Context(), "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		t.Fatalf("ask for the commit: %v", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Several generators and one control\n\nWritten by `make scale` at commit %s on a machine with %d processors, %s; load average %s at the start. [docs/scale.md](../docs/scale.md) says what the columns are. Processor time is in per cent of one processor, memory is that of control, and a run's records are those of %v.\n\n", strings.TrimSpace(string(commit)), runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), loadAverage(t), scaleLength)
	b.WriteString("| generators | rate of each | held | control | each generator | server | RssAnon | sent | received | records |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, at := range []struct{ n, rate int }{{1, 1000}, {2, 1000}, {4, 1000}, {8, 1000}, {1, 4000}, {2, 4000}, {4, 4000}, {4, 8000}, {4, 16000}} {
		t.Run(fmt.Sprintf("%d generators of %d", at.n, at.rate), func(t *testing.T) {
			row := measureScale(t, at.n, at.rate)
			t.Log(row)
			b.WriteString(row)
		})
	}
	if err := os.WriteFile(to, []byte(b.String()), 0o644); err != nil {
		t.Errorf("write the table: %v", err)
	}
}

// loadAverage returns the load averages of this machine over 1, 5 and 15 minutes.
func loadAverage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatalf("read the load average: %v", err)
	}
	return strings.Join(strings.Fields(string(data))[:3], ", ")
}

// scaleLength is how long the load lasts in each run.
const scaleLength = 14 * time.Second

// measureScale returns a row in the table.
func measureScale(t *testing.T, n, rate int) string {
	const watched = 8 * time.Second
	s := &issuers{network: newNetworkOf(t, n+1)}
	far, host := s.network.agents[n], s.hosts[n]
	s.hosts = s.hosts[:n]
	server := s.serve(far, host, "-")
	s.startAgents()
	s.addrs = s.hosts
	c := s.control(fmt.Sprintf("{operation: write, key_size: 16, value_size: 64, clients: %d, connections: %d, rate: %d, duration: %v, timeout: 60s, drain: 60s}\nconsistency: false", 50*n, 10*n, n*rate, scaleLength))
	c.loading()
	time.Sleep(2 * time.Second) // the buffers in the first seconds
	before, sent, received := s.used(c, server)
	time.Sleep(watched)
	after, sentAfter, receivedAfter := s.used(c, server)
	memory := statusKB(t, c.cmd.Process.Pid, "RssAnon")
	select {
	case <-c.ended:
	case <-time.After(patience):
		t.Fatal("control did not end")
	}
	db, dir := s.record()
	rows, err := results.ReadProgress(filepath.Join(dir, results.FileProgress))
	if err != nil {
		t.Fatalf("read the ticks: %v", err)
	}
	ok := int64(0)
	for _, r := range rows {
		if r.FromNS >= 0 && r.ToNS <= int64(scaleLength) {
			ok += r.OK
		}
	}
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / watched.Seconds() }
	agents := time.Duration(0)
	for i := range s.agents {
		agents += after[2+i] - before[2+i]
	}
	perSecond := func(n int64) float64 { return float64(n) / watched.Seconds() / 1e3 }
	for _, m := range db.Validity {
		t.Logf("%s: %s", m.Code, m.Text)
	}
	return fmt.Sprintf("| %d | %d/s | %.3f %% | %.2f %% | %.1f %% | %.1f %% | %.1f MB | %.1f kB/s | %.1f kB/s | %.0f kB |\n", n, rate,
		100*float64(ok)/(float64(n*rate)*scaleLength.Seconds()), share(after[0]-before[0]), share(agents)/float64(n), share(after[1]-before[1]), float64(memory)/1e3,
		perSecond(sentAfter-sent), perSecond(receivedAfter-received), float64(recorded(db))/1e3)
}

// recorded returns how many bytes were recorded.
func recorded(db *results.DatabaseRun) (bytes int64) {
	for _, d := range db.Digests.ByFile {
		bytes += d.Bytes
	}
	return bytes
}

// used returns the CPU time of control, the server and the agents so far, and the bytes sent and
// received by control's machine.
func (s *issuers) used(c, server *command) (times []time.Duration, sent, received int64) {
	s.p.t.Helper()
	for _, p := range append([]*command{c, server}, s.agents...) {
		times = append(times, processorTime(s.p.t, p.cmd.Process.Pid))
	}
	// Traffic over the bridge between other machines is not counted.
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", s.client))
	if err != nil {
		s.p.t.Fatalf("read the counters of interfaces: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if name, numbers, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "bridge0" {
			f := strings.Fields(numbers)
			received, _ = strconv.ParseInt(f[0], 10, 64)
			sent, _ = strconv.ParseInt(f[8], 10, 64)
		}
	}
	return times, sent, received
}

// processorTime returns the CPU time of all threads in a process.
func processorTime(t testing.TB, pid int) (sum time.Duration) {
	t.Helper()
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is right
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			t.Fatalf("parse %s: %v", path, err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

// statusKB is a field in the status of a process, in kB.
func statusKB(t testing.TB, pid int, field string) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("read the status of a process: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatalf("parse %s: %v", line, err)
			}
			return n
		}
	}
	t.Fatalf("the status of a process has no %s", field)
	return 0
}
