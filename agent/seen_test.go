package agent_test

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// What an agent shows follows its session and its member's faults, and outlives the session.
func TestSeen(t *testing.T) {
	h := serve(t, allowed)
	want := func(when, state string, lasting, applied int) agent.Seen {
		t.Helper()
		got := h.agent.Seen()
		l, n := got.Lasting("pause")
		if got.State != state || l != lasting || n != applied || got.Down {
			t.Errorf("%s the agent shows %+v with %d of %d faults; want %s, %d of %d", when, got, l, n, state, lasting, applied)
		}
		return got
	}
	want("at first", "idle", 0, 0)
	h.startedMember("run1")
	if got := want("with a member", "running", 0, 0); got.Member != 0 || got.Tag != "toy-v1" || got.Run != pb.RunHash("run1") || got.Sample == nil {
		t.Errorf("a running member shows %+v", got)
	}
	h.fault("f1", "pause", int64(time.Hour))
	want("during a fault", "running", 1, 1)
	h.heal("f1")
	want("after the fault", "running", 0, 1)
	h.stopped("run1")
	want("after the stop", "stopped", 0, 1)
	if _, err := h.Close(t.Context(), &pb.CloseRequest{RunId: "run1"}); err != nil {
		t.Fatalf("close: %v", err)
	}
	if got := want("after the close", "idle", 0, 1); got.Sample == nil || got.Tag != "toy-v1" {
		t.Errorf("after the close the last session is gone: %+v", got)
	}
	h.open("run2")
	if got := want("with another session", "open", 0, 0); got.Sample != nil || got.Run != pb.RunHash("run2") {
		t.Errorf("another session shows %+v", got)
	}
}
