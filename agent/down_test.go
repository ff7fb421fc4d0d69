package agent_test

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/results"
)

// setDown takes the member down or brings it up, which must work.
func (h *harness) setDown(run string, down bool) {
	h.t.Helper()
	if err := h.agent.SetDown(h.t.Context(), run, down); err != nil {
		h.t.Fatalf("setting down to %v failed: %v", down, err)
	}
}

// A member that goes down on purpose does not end its session, and comes back on
// its own data. One that dies by itself afterwards does.
func TestDownOnPurpose(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	req := request(t, "run1", "")
	req.Database = fake.Name
	first := h.start(req)
	h.awaitReady()
	target := database.Target{Prefer: -1, Endpoints: []string{net.JoinHostPort(req.Hosts[0].Addr, strconv.Itoa(int(req.Hosts[0].Ports["client"])))}}
	put(t, target, "key", "value")

	h.setDown("run1", true)
	h.setDown("run1", true) // the same again is the same answer
	gone(t, first.Children)
	beat, err := h.beat("run1")
	if err != nil || beat.State != pb.State_STATE_RUNNING || beat.Children[0].Running || beat.Children[0].Exit != "killed by SIGKILL after kill" {
		t.Errorf("heartbeat while down: %v, %v; want a running session whose child was killed", beat, err)
	}
	probed, err := h.Status(t.Context(), &pb.StatusRequest{Probe: true, RunId: h.run})
	if err != nil || probed.Ready || probed.NotReady != "the member is down on purpose" {
		t.Errorf("probe while down: %v, %v; want a member that is not ready", probed, err)
	}

	h.setDown("run1", false)
	h.setDown("run1", false)
	h.awaitReady()
	client, err := fake.New().Dial(t.Context(), target)
	if err != nil {
		t.Fatalf("dial the member: %v", err)
	}
	value, err := client.Get(t.Context(), []byte("key"), fake.Database().Info.Reads[0])
	if err != nil || string(value) != "value" {
		t.Errorf("a key written before the member went down is %q (%v), want its value", value, err)
	}
	if err := client.Close(); err != nil {
		t.Errorf("close the client: %v", err)
	}
	again := h.status().Children
	if len(again) != 1 || !again[0].Running || again[0].Pid == first.Children[0].Pid {
		t.Errorf("children after the member came up: %v, want one that runs with another pid", again)
	}
	if err := syscall.Kill(int(again[0].Pid), syscall.SIGKILL); err != nil {
		t.Fatalf("send the signal: %v", err)
	}
	if got := h.awaitState(pb.State_STATE_STOPPED); got.Reason != "child died" {
		t.Errorf("the session of a member that died by itself ended with %q, want %q", got.Reason, "child died")
	}
	if samples := h.collect("run1", results.FileServer); !strings.Contains(string(samples), "\n") {
		t.Error("no samples were taken")
	}
}

// A session whose member is down stops as any other does.
func TestStopWhileDown(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	h.start(request(t, "run1", ""))
	h.setDown("run1", true)
	if got := h.stopped("run1"); got.Reason != "asked" || got.ApparentBytes < 0 {
		t.Errorf("stop while down: %v, want a session that ended as asked with its data measured", got)
	}
	wantCode(t, h.agent.SetDown(t.Context(), "run1", false), codes.FailedPrecondition, "it is stopped")
}

// A member that cannot come up stays down, and its session stays.
func TestComesUpLater(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	req := request(t, "run1", "")
	h.start(req)
	h.setDown("run1", true)
	addr := net.JoinHostPort(req.Hosts[0].Addr, strconv.Itoa(int(req.Hosts[0].Ports["client"])))
	taken, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	wantCode(t, h.agent.SetDown(t.Context(), "run1", false), codes.Aborted, "is taken by")
	if err := taken.Close(); err != nil {
		t.Errorf("close the listener: %v", err)
	}
	if got := h.status().State; got != pb.State_STATE_RUNNING {
		t.Errorf("after a member could not come up the session is %v, want it running", got)
	}
	h.setDown("run1", false)
	h.awaitReady()
}
