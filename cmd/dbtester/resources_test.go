package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestResources limits an etcd member: its group has the limit while it runs. The group is gone
// after a stop, and after an agent was killed and restarted.
func TestResources(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	limits := resources.Limits{CPUs: 0.25, Period: 20 * time.Millisecond, MemoryBytes: 2 << 30}
	parent, err := cgroup.Find(limits)
	if err == nil {
		err = parent.Check("test-"+strconv.Itoa(os.Getpid()), t.Name(), limits)
	}
	if err != nil {
		t.Skipf("needs the right to make control groups: %v", err)
	}
	p, hosts := newPlace(t), freeHosts(t)[:1]
	agents := p.startAgents(hosts)
	// The agents are children of this process, so their groups have the same parent.
	groups := filepath.Join(filepath.Dir(filepath.Dir(parent.Dirs("run", "member")[0])), "*", "*-1")
	file := p.experiment("limited", hosts, "{duration: 10m, clients: 8, connections: 8}\nresources: {cpus: 0.25, memory: 2GiB, period: 20ms}")

	c := p.start("control", "--config", file)
	c.loading()
	dir := p.group(groups)
	if got := quota(t, dir); got != "5000 20000" {
		t.Errorf("the member may use %q, want 5000 us in 20000 us", got)
	}
	eventually(t, "the member is throttled", func() bool { return throttled(t, dir) > 0 })
	c.signal(syscall.SIGINT)
	c.exits(exitInterrupted, patience)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the group must be gone after the stop, got %v", err)
	}
	db := manifest(t, p.runs()[0]).Databases[0]
	m := db.Members[0]
	if db.Resources == nil || *db.Resources != limits || m.Use == nil || m.Use.Throttled < 1 || m.Use.OOMKills != 0 || m.Use.PeakBytes < 1<<20 {
		t.Errorf("limits %+v and use %+v: want those of the file, and a member that was throttled", db.Resources, m.Use)
	}

	c = p.start("control", "--config", file)
	c.loading()
	dir = p.group(groups)
	agents[0].signal(syscall.SIGKILL)
	<-agents[0].ended
	c.signal(syscall.SIGKILL)
	<-c.ended
	eventually(t, "no member runs", func() bool { return len(p.members()) == 0 })
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("nobody has removed the group yet: %v", err)
	}
	p.startAgents(hosts)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the group must be gone after the agent's restart, got %v", err)
	}
}

// group returns the directory, by pattern, for the group with the only member in the place.
func (p place) group(pattern string) string {
	p.t.Helper()
	pids := p.members()
	if len(pids) != 1 {
		p.t.Fatalf("%d members run, want 1", len(pids))
	}
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		p.t.Fatalf("list the groups: %v", err)
	}
	for _, dir := range dirs {
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(procs)) {
			if pid == strconv.Itoa(pids[0]) {
				return dir
			}
		}
	}
	p.t.Fatalf("member %d is in none of the groups %q", pids[0], dirs)
	return ""
}

// throttled returns in how many periods a group used up its quota.
func throttled(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		t.Fatalf("read the use of a group: %v", err)
	}
	_, after, _ := strings.Cut(string(text), "nr_throttled ")
	n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]))
	if err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
	return n
}

// quota returns the CPU quota of a group and its period, in microseconds.
func quota(t *testing.T, dir string) string {
	t.Helper()
	var texts []string
	for _, name := range []string{"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
	return strings.Join(texts, " ")
}
