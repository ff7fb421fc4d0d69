package agent_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/pkg/process/logfile"
)

// A member that floods its log keeps the beginning and the end, on the agent disk and in the copy
// at control, with the cut between them.
func TestFloodedLog(t *testing.T) {
	bound := logfile.Bound{Head: 64 << 10, Tail: 128 << 10, Slack: 32 << 10}
	h := serve(t, func(o *agent.Options) { o.LogBound = bound })
	h.open("run1")
	started := h.start(request(t, "run1", "flood: true"))
	h.stopped("run1")
	log := string(h.collect("run1", "logs/server.log"))
	switch {
	case !strings.HasPrefix(log, "toy starts") || !strings.HasSuffix(log, "toy stops\n"):
		t.Error("the log must keep its beginning and its end")
	case strings.Count(log, "\n[dbtester: ") != 1:
		t.Errorf("the log must have one line that gives its cut, got %d", strings.Count(log, "\n[dbtester: "))
	case int64(len(log)) > bound.Most()+200:
		t.Errorf("%d bytes were collected, want at most %d", len(log), bound.Most())
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(filepath.Join(filepath.Dir(started.Dir), "logs", "server.log"), &stat); err != nil {
		t.Fatalf("measure the log: %v", err)
	}
	if on := stat.Blocks * 512; on > bound.Most()+64<<10 {
		t.Errorf("%d bytes of the log are on the disk after the stop, want at most %d and a little", on, bound.Most())
	}
}
