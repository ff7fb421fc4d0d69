package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
)

// limits are the limits in tests, large enough for a server built for the race detector.
var limits = resources.Limits{CPUs: 0.5, Period: 20 * time.Millisecond, MemoryBytes: 256 << 20}

// canLimit skips the test where this process cannot make control groups.
func canLimit(t *testing.T) *cgroup.Parent {
	t.Helper()
	parent, err := cgroup.Find(limits)
	if err == nil {
		err = parent.Check("test-"+t.Name(), "agent", limits)
	}
	if err != nil {
		t.Skipf("needs the right to make control groups: %v", err)
	}
	return parent
}

// limitsRecord encodes limits for a request.
func limitsRecord(t *testing.T, l resources.Limits) []byte {
	t.Helper()
	data, err := pb.Record("limits", l)
	if err != nil {
		t.Fatalf("encode the limits: %v", err)
	}
	return data
}

// limited is a request with the limits.
func limited(t *testing.T, run string) *pb.StartRequest {
	t.Helper()
	req := request(t, run, "")
	req.Limits = limitsRecord(t, limits)
	return req
}

// groupsOf returns the group directories that a session record names.
func groupsOf(t *testing.T, dataDir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(dataDir), "session.json"))
	if err != nil {
		t.Fatalf("read the record: %v", err)
	}
	var record struct{ Group []string }
	if err := json.Unmarshal(data, &record); err != nil || len(record.Group) == 0 {
		t.Fatalf("the record must name the group, got %s, %v", data, err)
	}
	return record.Group
}

// removed checks that a group no longer exists.
func removed(t *testing.T, dirs []string) {
	t.Helper()
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s must be gone, got %v", dir, err)
		}
	}
}

// A member with limits runs in a group that has them. Its usage is known when it stops, and then
// the group is removed.
func TestLimits(t *testing.T) {
	canLimit(t)
	h := serve(t, func(o *agent.Options) { o.Deadlines = process.Deadlines{Kill: patience} }) // it is too busy to end by itself
	h.open("run1")
	req := limited(t, "run1")
	dry := limited(t, "run1")
	dry.DryRun = true
	if got := h.start(dry); readRecord[resources.Limits](t, got.Limits) != limits {
		t.Errorf("a dry run must answer with the limits, got %s", got.Limits)
	}
	started := h.start(req)
	for _, want := range []string{`GOMAXPROCS=1`, `GOMEMLIMIT=` + strconv.FormatInt(limits.GoMemLimit(), 10)} {
		if !strings.Contains(string(started.Plan), want) {
			t.Errorf("the plan must have %s in the environment, got %s", want, started.Plan)
		}
	}
	dirs := groupsOf(t, started.Dir)
	for _, dir := range dirs {
		pids, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil || strings.TrimSpace(string(pids)) != fmt.Sprint(started.Children[0].Pid) {
			t.Errorf("the member's process must be the one in %s, got %q, %v", dir, pids, err)
		}
	}
	tellToy(t, addr(req), "spin")
	samples := filepath.Join(filepath.Dir(started.Dir), results.FileServer)
	h.await("a sample of the throttling", func(*pb.StatusResponse) bool {
		all, _ := results.ReadSamples(samples)
		// The kernel counts a period when it ends, and its time when the group runs again.
		return len(all) > 0 && all[len(all)-1].Get(metric.GroupThrottledPeriods) > 0 && all[len(all)-1].Get(metric.GroupThrottledSeconds) > 0
	})
	stopped := h.stopped("run1")
	if u := readRecord[resources.Use](t, stopped.Use); u.Throttled < 1 || u.ThrottledTime <= 0 || u.OOMKills != 0 || u.PeakBytes == 0 {
		t.Errorf("a member that never rests must be throttled, got %v", u)
	}
	if len(stopped.Problems) > 0 {
		t.Errorf("problems: %q", stopped.Problems)
	}
	// The group is known before the member runs in it, so that its counts begin at 0.
	if all, err := results.ReadSamples(samples); err != nil || all[0].Get(metric.GroupThrottledPeriods) != 0 || all[0].Group != dirs[0] {
		t.Errorf("the first sample must have the group %s, got %v, %v", dirs[0], all, err)
	}
	removed(t, dirs)
	gone(t, started.Children)
}

// A member that its memory limit kills did not end by itself.
func TestKilledByTheMemoryLimit(t *testing.T) {
	canLimit(t)
	h := serve(t, nil)
	h.open("run1")
	req := limited(t, "run1")
	started := h.start(req)
	dirs := groupsOf(t, started.Dir)
	tellToy(t, addr(req), "eat")
	const want = pb.ReasonMemoryLimit + "268 MB"
	if got := h.awaitState(pb.State_STATE_STOPPED); got.Reason != want || got.Children[0].Exit != "killed by SIGKILL" {
		t.Errorf("the reason must be %q, got %q and %v", want, got.Reason, got.Children)
	}
	if got := h.stopped("run1"); readRecord[resources.Use](t, got.Use).OOMKills < 1 || got.Reason != want {
		t.Errorf("stop: %v", got)
	}
	removed(t, dirs)
}

// Limits out of bounds are refused.
func TestLimitsOutOfBounds(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	for text, l := range map[string]string{
		"cpus must be over 0":            `{"cpus":-1,"period_ns":100000000}`,
		"period must be from 1ms to 1s":  `{"cpus":1}`,
		"memory must be at least 16 MiB": `{"memory_bytes":1}`,
		"decode limits":                  `{"cpus":"all"}`,
		"cannot unmarshal number 1e999":  `{"cpus":1e999}`,
		"at least 1ms of processor time": `{"cpus":0.001,"period_ns":100000000}`,
	} {
		req := request(t, "run1", "")
		req.Limits = []byte(l)
		_, err := h.Start(t.Context(), req)
		wantCode(t, err, codes.InvalidArgument, "limits: ", text)
	}
	// A heap must fit the limit, not only the machine.
	req := request(t, "run1", "{memory: 100000000}")
	req.Limits = limitsRecord(t, resources.Limits{MemoryBytes: 64 << 20})
	_, err := h.Start(t.Context(), req)
	wantCode(t, err, codes.InvalidArgument, "memory 100000000 is more than the machine has")
}

// The next agent removes the group of a killed agent, with processes that left the child's process
// group.
func TestRestartRemovesGroups(t *testing.T) {
	parent := canLimit(t)
	g, err := parent.Make("test-"+t.Name(), "toy-1", limits)
	if err != nil {
		t.Fatalf("make the group: %v", err)
	}
	t.Cleanup(func() {
		if err := g.Remove(context.Background()); err != nil {
			t.Errorf("remove the group: %v", err)
		}
	})
	child, err := process.Start(process.Command{Name: "sh", Path: "sh", Args: []string{"-c", "setsid sleep 600 & wait"}, Place: g.Place})
	if err != nil {
		t.Fatalf("start the process: %v", err)
	}
	defer child.Stop(t.Context(), process.Deadlines{})
	dirs := parent.Dirs("test-"+t.Name(), "toy-1")
	dir := t.TempDir()
	leave(t, filepath.Join(dir, "toy-v1-run1"), time.Now(), nil)
	addGroup(t, filepath.Join(dir, "toy-v1-run1", "session.json"), append(dirs, t.TempDir()))
	h := serve(t, func(o *agent.Options) { o.WorkDir = dir })
	removedAll := true
	for _, d := range dirs {
		if _, err := os.Stat(d); err == nil {
			removedAll = false
		}
	}
	if removedAll {
		t.Error("a record that names another directory than a group must not be followed")
	}
	h.close()
	addGroup(t, filepath.Join(dir, "toy-v1-run1", "session.json"), dirs)
	h = serve(t, func(o *agent.Options) { o.WorkDir = dir })
	removed(t, dirs)
	<-child.Done()
	if got := h.status(); got.State != pb.State_STATE_STOPPED {
		t.Errorf("status: %v", got)
	}
}

// addGroup puts the group directories into a record.
func addGroup(t *testing.T, file string, dirs []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the record: %v", err)
	}
	record := map[string]any{}
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatalf("decode the record: %v", err)
	}
	record["group"] = dirs
	if data, err = json.Marshal(record); err != nil {
		t.Fatalf("encode the record: %v", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatalf("write the record: %v", err)
	}
}
