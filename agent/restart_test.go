package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/process"
)

// The session an agent left when it ended stays for the next agent: it can be collected from, and
// gives way to another run.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	in := func(o *agent.Options) { o.WorkDir = dir }
	h := serve(t, in)
	h.open("run1")
	started := h.start(request(t, "run1", ""))
	if _, err := agent.New(agent.Options{Registry: registry(), WorkDir: dir}); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("a second agent in one work directory got %v, want a refusal", err)
	}
	h.close()
	gone(t, started.Children)

	h = serve(t, in)
	h.run = "run1"
	got := h.status()
	if got.State != pb.State_STATE_STOPPED || got.Reason != "agent closed" || got.Owner.RunHash != pb.RunHash("run1") {
		t.Errorf("after a restart: %v", got)
	}
	if len(got.Children) != 1 || got.Children[0].Exit != "exit 0 after interrupt" {
		t.Errorf("children after a restart: %v", got.Children)
	}
	if log := string(h.collect("run1", "logs/server.log")); !strings.Contains(log, "toy stops") {
		t.Errorf("log after a restart: %q", log)
	}
	if got := h.stopped("run1"); got.Reason != "agent closed" || got.ApparentBytes != 12345 {
		t.Errorf("stop after a restart: %v", got)
	}
	h.open("run2")
	if _, err := os.Stat(filepath.Dir(started.Dir)); !os.IsNotExist(err) {
		t.Errorf("the old session's directory after the next open: %v", err)
	}
}

// A killed agent may leave children. The next one ends those whose start time matches, and no
// other process.
func TestRestartEndsOnlyItsOwn(t *testing.T) {
	ours, stranger := sleeper(t), sleeper(t)
	dir := t.TempDir()
	leave(t, filepath.Join(dir, "toy-v1-run1"), time.Now(), []any{
		child("ours", ours.Pid(), ours.StartTicks()),
		child("stranger", stranger.Pid(), stranger.StartTicks()-1),
		child("gone", 1<<22-1, 5),
		child("init", 1, 5),
		child("group", -1, 5),
	})
	leave(t, filepath.Join(dir, "toy-v1-run0"), time.Now().Add(-time.Hour), nil)
	broken := filepath.Join(dir, "toy-v1-run2")
	if err := os.Mkdir(broken, 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(broken, "session.json"), []byte("{gar"), 0o600); err != nil {
		t.Fatalf("write the record: %v", err)
	}
	mine := filepath.Join(dir, "my-notes")
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}

	h := serve(t, func(o *agent.Options) { o.WorkDir = dir })
	h.run = "run1"
	<-ours.Done()
	if _, err := os.Stat(broken); !os.IsNotExist(err) {
		t.Errorf("the directory of a broken record: %v, want it removed", err)
	}
	if !process.Alive(stranger.Pid(), stranger.StartTicks()) {
		t.Error("a process that is not a leftover was killed")
	}
	got := h.status()
	if got.State != pb.State_STATE_STOPPED || got.Reason != "agent restarted" || got.Owner.RunHash != pb.RunHash("run1") {
		t.Errorf("status: %v", got)
	}
	for _, c := range got.Children {
		if c.Name == "ours" && c.Running {
			t.Errorf("child: %v", c)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "toy-v1-run0")); !os.IsNotExist(err) {
		t.Errorf("an older session's directory: %v", err)
	}
	h.open("run2")
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a directory without a record was touched: %v", err)
	}
}

// sleeper is a process that lasts until the test ends.
func sleeper(t *testing.T) *process.Handle {
	t.Helper()
	h, err := process.Start(process.Command{Name: "sleep", Path: "sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatalf("start the process: %v", err)
	}
	t.Cleanup(func() { h.Stop(t.Context(), process.Deadlines{}) })
	return h
}

func child(name string, pid int, ticks uint64) any {
	return map[string]any{"name": name, "pid": pid, "start_ticks": ticks}
}

// leave writes the record of a running session, as a killed agent leaves it.
func leave(t *testing.T, dir string, opened time.Time, children []any) {
	t.Helper()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	data, err := json.Marshal(map[string]any{
		"format": 1, "run_id": "run1", "tag": "toy-v1", "state": "running", "opened": opened,
		"boot_id": strings.TrimSpace(string(boot)), "children": children, "files": []string{"session.json", "../../secret"},
	})
	if err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "session.json"), data, 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
}
