package agent_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// takeOver requests a detached session.
func (h *harness) takeOver(run string, want *pb.StartRequest) error {
	_, err := h.Open(h.t.Context(), &pb.OpenRequest{RunId: run, Owner: run, TakeOver: want})
	return err
}

// leave sends the last heartbeat of the run.
func (h *harness) leave(run string) {
	h.t.Helper()
	if _, err := h.Heartbeat(h.t.Context(), &pb.HeartbeatRequest{RunId: run, Leaving: true}); err != nil {
		h.t.Fatalf("leave the session: %v", err)
	}
}

func TestDetached(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const lease = 3 * time.Second
	h := serve(t, func(o *agent.Options) { o.Lease = lease })
	silence := h.beats("run1")
	h.open("run1")
	req := request(t, "run1", "")
	req.Detached = true
	started := h.start(req)
	silence()
	h.leave("run1")
	time.Sleep(2 * lease)
	if got := h.status(); got.State != pb.State_STATE_RUNNING || !got.Owner.Detached {
		t.Fatalf("a detached session without heartbeats: %v", got)
	}
	_, err := h.Open(t.Context(), &pb.OpenRequest{RunId: "run2"})
	wantCode(t, err, codes.FailedPrecondition, `"toy-v1" detached`)
	want := proto.CloneOf(req)
	want.RunId, want.Clients = "", 99
	for range 2 {
		if err := h.takeOver("run2", want); err != nil {
			t.Fatalf("open the session: %v", err)
		}
	}
	h.run = "run2"
	_, err = h.beat("run1")
	wantCode(t, err, codes.PermissionDenied)
	if record := string(h.collect("run2", "session.json")); !strings.Contains(record, `"run_id": "run2"`) {
		t.Errorf("record after the takeover: %s", record)
	}
	if got := h.stopped("run2"); got.Reason != "asked" {
		t.Errorf("stop by the new owner: %v", got)
	}
	gone(t, started.Children)
	h.awaitOpen("run3") // its remains live for one lease
}

// The name of a detached session is not enough to take it over.
func TestTakeOverIsRefused(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	req := request(t, "run1", "")
	req.Detached = true
	h.start(req)
	// Its control is alive, and may be in the middle of a load.
	wantCode(t, h.takeOver("run2", req), codes.FailedPrecondition, "belongs to tester of run1")
	h.leave("run1")
	for name, change := range map[string]func(*pb.StartRequest){
		"other options": func(r *pb.StartRequest) { r.Options = []byte("{memory: 1}") },
		"other hosts":   func(r *pb.StartRequest) { r.Hosts[0].Ports["client"]++ },
		"other version": func(r *pb.StartRequest) { r.Version = "v3.6.16" },
		"only the tag":  func(r *pb.StartRequest) { tag := r.Tag; proto.Reset(r); r.Tag = tag },
	} {
		want := proto.CloneOf(req)
		change(want)
		t.Log(name)
		wantCode(t, h.takeOver("run2", want), codes.FailedPrecondition, "was started with hosts, options or versions")
	}
	wantCode(t, h.takeOver("run2", &pb.StartRequest{Tag: "other"}), codes.FailedPrecondition, `no detached session of "other"`)
	if err := h.takeOver("run2", req); err != nil {
		t.Fatalf("take the session over: %v", err)
	}
	wantCode(t, h.takeOver("run3", req), codes.FailedPrecondition, "belongs to run2")
	if _, err := h.beat("run2"); err != nil {
		t.Errorf("heartbeat of the new owner: %v", err)
	}
}

// A run that takes a session over to stop it has a lease like any other: if it dies, the
// member is stopped.
func TestTakenOverHasALease(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	h := serve(t, func(o *agent.Options) { o.Lease = 3 * time.Second })
	silence := h.beats("run1")
	h.open("run1")
	req := request(t, "run1", "")
	req.Detached = true
	h.start(req)
	silence()
	h.leave("run1")
	want := proto.CloneOf(req)
	want.Detached = false
	if err := h.takeOver("run2", want); err != nil {
		t.Fatalf("take the session over: %v", err)
	}
	h.run = "run2"
	if got := h.awaitState(pb.State_STATE_STOPPED); got.Reason != "lease expired" {
		t.Errorf("the session ended because %q, want its lease", got.Reason)
	}
}

// Only the session's run gets the member's facts and logs.
func TestStatusOfOthers(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	req := request(t, "run1", "")
	h.start(req)
	killToy(t, addr(req))
	own := h.awaitState(pb.State_STATE_STOPPED)
	if len(own.Children) != 1 || own.Children[0].Tail == "" || len(own.Files) == 0 || own.Reason == "" {
		t.Fatalf("the status for its run: %v", own)
	}
	for _, run := range []string{"", "run2", pb.RunHash("run1")} {
		got, err := h.Status(t.Context(), &pb.StatusRequest{RunId: run, Probe: true})
		if err != nil {
			t.Fatalf("ask for the status: %v", err)
		}
		if got.State != pb.State_STATE_STOPPED || got.Owner.GetName() == "" || got.Version == "" {
			t.Errorf("the status for %q: %v", run, got)
		}
		if len(got.Children)+len(got.Files) > 0 || got.Reason != "" || got.Ready || got.NotReady != "the agent belongs to another run" {
			t.Errorf("the status for %q tells of the member: %v", run, got)
		}
	}
}

// A control that leaves the files of a stopped session sets the agent free: the files can be
// fetched until another run opens a session, which it may do at once.
func TestLeftFiles(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	h.start(request(t, "run1", ""))
	h.stopped("run1")
	_, err := h.Open(t.Context(), &pb.OpenRequest{RunId: "run2", Owner: "run2"})
	wantCode(t, err, codes.FailedPrecondition, "belongs to tester of run1")
	h.leave("run1")
	if record := string(h.collect("run1", "session.json")); !strings.Contains(record, `"run_id": "run1"`) {
		t.Errorf("the record of a session whose control has left: %s", record)
	}
	h.open("run2")
	_, err = h.beat("run1")
	wantCode(t, err, codes.PermissionDenied, "belongs to tester of run2")
}
