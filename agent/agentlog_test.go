package agent_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/files/runlog"
	"github.com/coreos/dbtester/pkg/process/logfile"
	"github.com/coreos/dbtester/pkg/results"
)

// wantInOrder fails unless the log has these texts, one after the other.
func wantInOrder(t *testing.T, log string, texts ...string) {
	t.Helper()
	rest := log
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("want %q in this order in the agent's log, %q is missing in:\n%s", texts, text, log)
		}
		rest = after
	}
}

// An agent's log from the opening of a session to its end is a session file, even after another run
// took the session over. The next session has its own log.
func TestAgentLog(t *testing.T) {
	log := slog.New(runlog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
	h := serve(t, func(o *agent.Options) { o.Log = log })
	h.open("run1")
	req := request(t, "run1", "")
	req.Detached = true
	h.start(req)
	log.Info("someone was not let in")
	h.leave("run1")
	running := string(h.collect("run1", results.FileAgentLog))
	wantInOrder(t, running, "session opened", `owner="tester of run1"`, "member starts", "member runs", "someone was not let in")
	if strings.Contains(running, "run=run1") {
		t.Errorf("the log gives the run id, which opens the session:\n%s", running)
	}
	if err := h.takeOver("run2", req); err != nil {
		t.Fatalf("take the session over: %v", err)
	}
	h.run = "run2"
	h.stopped("run2")
	wantInOrder(t, string(h.collect("run2", results.FileAgentLog)), "session opened", "member runs", "session taken over", "owner=run2", "session stopped", "reason=asked")
	if _, err := h.Close(t.Context(), &pb.CloseRequest{RunId: "run2"}); err != nil {
		t.Fatalf("close the session: %v", err)
	}
	h.open("run3")
	req = request(t, "run3", "")
	h.start(req)
	if log := string(h.collect("run3", results.FileAgentLog)); strings.Contains(log, "run2") || !strings.Contains(log, "tester of run3") {
		t.Errorf("the log of the next session has what is not its own:\n%s", log)
	}
}

// The log of an agent that ended stays for the next agent, which continues it.
func TestAgentLogAfterRestart(t *testing.T) {
	dir := t.TempDir()
	in := func(o *agent.Options) { o.WorkDir = dir }
	h := serve(t, in)
	h.open("run1")
	h.start(request(t, "run1", ""))
	h.close()
	h = serve(t, in)
	h.run = "run1"
	wantInOrder(t, string(h.collect("run1", results.FileAgentLog)), "session opened", "member runs", `reason="agent closed"`, "found the session of an earlier agent")
}

// A process that logs without end keeps the beginning and the end of its log, with the cut between
// them.
func TestAgentLogIsBounded(t *testing.T) {
	bound := logfile.Bound{Head: 4 << 10, Tail: 16 << 10, Slack: 4 << 10}
	log := slog.New(runlog.New(slog.DiscardHandler))
	h := serve(t, func(o *agent.Options) { o.Log, o.LogBound = log, bound })
	h.open("run1")
	h.start(request(t, "run1", ""))
	for i := range 2000 {
		log.Info("a caller was not let in", "n", i)
	}
	h.stopped("run1")
	text := string(h.collect("run1", results.FileAgentLog))
	wantInOrder(t, text, "session opened", "\n[dbtester: ", "n=1999", "session stopped")
	if int64(len(text)) > bound.Most()+200 {
		t.Errorf("%d bytes were collected, want at most %d", len(text), bound.Most())
	}
}
