package agent_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// forever is longer than any test.
const forever = int64(time.Hour)

// stall holds the calls by which a member puts its writes on disk, and full fills its own disk.
var (
	stall = &pb.FaultKind{Kind: "disk", Parameters: fault.Parameters{Fsync: "stall"}.Encoded()}
	full  = &pb.FaultKind{Kind: "disk", Parameters: fault.Parameters{Full: true}.Encoded()}
)

// allowed makes an agent allow every fault kind this machine can have.
func allowed(o *agent.Options) { o.AllowFaults = fault.Possible() }

// fault applies a fault, which must take effect.
func (h *harness) fault(id, kind string, lasts int64) *pb.FaultResponse {
	h.t.Helper()
	got, err := h.Fault(h.t.Context(), &pb.FaultRequest{RunId: h.run, Id: id, Fault: &pb.FaultKind{Kind: kind}, ForNs: lasts})
	if err != nil || got.Failed != "" {
		h.t.Fatalf("fault %s: %v, %v", kind, got, err)
	}
	return got
}

// heal undoes a fault, which must work.
func (h *harness) heal(id string) *pb.FaultResponse {
	h.t.Helper()
	got, err := h.Heal(h.t.Context(), &pb.HealRequest{RunId: h.run, Id: id})
	if err != nil || got.Failed != "" || got.OverUnixNs < got.AppliedUnixNs {
		h.t.Fatalf("heal %s: %v, %v", id, got, err)
	}
	return got
}

// ask applies a fault, which may fail.
func (h *harness) ask(id string, k *pb.FaultKind) *pb.FaultResponse {
	h.t.Helper()
	got, err := h.Fault(h.t.Context(), &pb.FaultRequest{RunId: h.run, Id: id, Fault: k, ForNs: forever})
	if err != nil {
		h.t.Fatalf("fault %s: %v", id, err)
	}
	return got
}

// startedMember starts a member and returns its child's pid.
func (h *harness) startedMember(run string) int {
	h.t.Helper()
	h.open(run)
	pid := int(h.start(request(h.t, run, "")).Children[0].Pid)
	h.awaitReady()
	return pid
}

// A member that a fault kills does not end its session, and comes back on its own data. A member
// that dies by itself afterwards does end it.
func TestFaultKill(t *testing.T) {
	h := serve(t, allowed)
	h.open("run1")
	req := request(t, "run1", "")
	req.Database = fake.Name
	first := h.start(req)
	h.awaitReady()
	target := database.Target{Prefer: -1, Endpoints: []string{net.JoinHostPort(req.Hosts[0].Addr, strconv.Itoa(int(req.Hosts[0].Ports["client"])))}}
	put(t, target, "key", "value")

	applied := h.fault("1", "kill", forever)
	if again := h.fault("1", "kill", forever); again.AppliedUnixNs != applied.AppliedUnixNs || applied.Saw != "1 of 1 processes ended" {
		t.Errorf("the same request again got %v, after %v", again, applied)
	}
	gone(t, first.Children)
	beat, err := h.beat("run1")
	if err != nil || beat.State != pb.State_STATE_RUNNING || beat.Children[0].Running || beat.Children[0].Exit != "killed by SIGKILL after kill" {
		t.Errorf("heartbeat while down: %v, %v; want a running session whose child was killed", beat, err)
	}
	probed, err := h.Status(t.Context(), &pb.StatusRequest{Probe: true, RunId: h.run})
	if err != nil || probed.Ready || probed.NotReady != "a fault has ended the member" {
		t.Errorf("probe while down: %v, %v; want a member that is not ready", probed, err)
	}
	if _, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: h.run, Id: "1", Fault: &pb.FaultKind{Kind: "pause"}}); err == nil {
		t.Error("another fault had the id of the first")
	}
	second, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: h.run, Id: "2", Fault: &pb.FaultKind{Kind: "pause"}, ForNs: forever})
	if err != nil || !strings.Contains(second.GetFailed(), "no process of the member runs") {
		t.Errorf("a fault of a member that is down: %v, %v", second, err)
	}

	over := h.heal("1")
	if again := h.heal("1"); again.OverUnixNs != over.OverUnixNs {
		t.Errorf("healing again got %v, after %v", again, over)
	}
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

// The agent undoes faults when their duration is over, without a request.
func TestFaultTimer(t *testing.T) {
	h := serve(t, allowed)
	pid := h.startedMember("run1")
	h.fault("1", "restart", 0)
	again := h.await("started again", func(s *pb.StatusResponse) bool { return s.Children[0].Running && int(s.Children[0].Pid) != pid })
	h.fault("2", "pause", int64(time.Millisecond))
	h.heal("2") // answers when the timer, or this, has undone it
	if now := h.status().Children[0]; now.Pid != again.Children[0].Pid || process.Stopped(int(now.Pid), ticks(t, int(now.Pid))) {
		t.Errorf("after a pause the member is %v", now)
	}
}

// A session whose member is down or paused stops like any other, in the same time.
func TestStopDuringFault(t *testing.T) {
	for _, kind := range []string{"kill", "pause"} {
		t.Run(kind, func(t *testing.T) {
			h := serve(t, allowed)
			pid := h.startedMember("run1")
			started := ticks(t, pid)
			h.fault("1", kind, forever)
			if kind == "pause" && !process.Stopped(pid, started) {
				t.Errorf("the member is not stopped")
			}
			got := h.stopped("run1")
			if got.Reason != "asked" || got.ApparentBytes < 0 {
				t.Errorf("stop: %v, want a session that ended as asked with its data measured", got)
			}
			if kind == "pause" && got.Children[0].Exit != "exit 0 after interrupt" {
				t.Errorf("a paused member ended with %q, want it to have ended as asked", got.Children[0].Exit)
			}
			if process.Alive(pid, started) {
				t.Error("the member still runs")
			}
			_, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: h.run, Id: "2", Fault: &pb.FaultKind{Kind: kind}, ForNs: forever})
			wantCode(t, err, codes.FailedPrecondition, "it is stopped")
			if over := h.heal("1"); over.SawOver != "the session ended" {
				t.Errorf("the fault is %v", over)
			}
		})
	}
}

// A member with announced disk faults starts under a tap, which lets calls pass again when the
// session ends. The toy puts nothing on disk, so the fault is found to have no effect.
func TestFaultDisk(t *testing.T) {
	h := serve(t, allowed)
	h.open("run1")
	req := request(t, "run1", "")
	req.Faults = []*pb.FaultKind{stall}
	h.start(req)
	h.awaitReady()
	if got := h.ask("1", stall); got.Failed != "" || got.Saw != "each call is held" {
		t.Errorf("the fault is %v", got)
	}
	for _, id := range []string{"2", "3"} { // when the first one fails, the fault stays as it is
		if got := h.ask(id, stall); got.Failed != "another fault has the disk of the member" || got.SawOver != "" {
			t.Errorf("another one is %v", got)
		}
	}
	got, err := h.Heal(t.Context(), &pb.HealRequest{RunId: h.run, Id: "1"})
	if err != nil || !strings.Contains(got.GetFailed(), "made no call that puts writes on disk") {
		t.Errorf("over: %v, %v; want a fault without an effect", got, err)
	}
	h.ask("4", stall)
	if got := h.stopped("run1"); got.Reason != "asked" {
		t.Errorf("stop: %v", got)
	}
	if _, err := h.Close(t.Context(), &pb.CloseRequest{RunId: "run1"}); err != nil {
		t.Fatalf("close the session: %v", err)
	}
	// A fault that was not announced is refused.
	h.open("run2")
	h.start(request(t, "run2", ""))
	if got := h.ask("5", stall); !strings.Contains(got.Failed, "without a tap") {
		t.Errorf("the fault of a member without a tap is %v", got)
	}
}

// A lease that expires during a fault leaves nothing behind.
func TestLeaseDuringFault(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	h := serve(t, func(o *agent.Options) { allowed(o); o.Lease = 3 * time.Second })
	silence := h.beats("run1")
	pid := h.startedMember("run1")
	started := ticks(t, pid)
	h.fault("1", "pause", forever)
	silence()
	h.awaitState(pb.State_STATE_STOPPED)
	if process.Alive(pid, started) {
		t.Error("the member still runs")
	}
}

// An agent applies only the faults it was started with, and a start that announces another is
// refused before anything happens.
func TestFaultRefused(t *testing.T) {
	h := serve(t, func(o *agent.Options) { o.AllowFaults = []string{"pause"} })
	h.open("run1")
	req := request(t, "run1", "")
	req.Faults = []*pb.FaultKind{{Kind: "pause"}, {Kind: "kill"}}
	_, err := h.Start(t.Context(), req)
	wantCode(t, err, codes.PermissionDenied, "may not apply the fault kill (allowed: pause)", "--allow-faults kill")
	req.Faults = []*pb.FaultKind{{Kind: "pause", Parameters: []byte(`{"until": "stall"}`)}}
	_, err = h.Start(t.Context(), req)
	wantCode(t, err, codes.InvalidArgument, "unknown field")
	req.Faults = req.Faults[:0]
	h.start(req)
	_, err = h.Fault(t.Context(), &pb.FaultRequest{RunId: "run1", Id: "1", Fault: &pb.FaultKind{Kind: "kill"}})
	wantCode(t, err, codes.PermissionDenied, "may not apply the fault kill")
	_, err = h.Fault(t.Context(), &pb.FaultRequest{RunId: "run1", Id: "1", Fault: &pb.FaultKind{Kind: "flood"}})
	wantCode(t, err, codes.InvalidArgument, `no kind of fault has the name "flood": want kill`)
	_, err = h.Heal(t.Context(), &pb.HealRequest{RunId: "run1", Id: "1"})
	wantCode(t, err, codes.NotFound, `no fault "1"`)
}

// An agent that restarts undoes the faults an earlier agent recorded, and ends the processes.
func TestRestartDuringFault(t *testing.T) {
	ours := sleeper(t)
	if err := unix.Kill(-ours.Pid(), unix.SIGSTOP); err != nil {
		t.Fatalf("stop the process: %v", err)
	}
	dir := t.TempDir()
	session := filepath.Join(dir, "toy-v1-run1")
	leave(t, session, time.Now(), []any{child("ours", ours.Pid(), ours.StartTicks())})
	path := filepath.Join(session, "session.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the record: %v", err)
	}
	left := `{"faults": [{"id": "1", "kind": "pause", "for_ns": 1, "processes": [{"pid": ` + strconv.Itoa(ours.Pid()) + `, "start_ticks": ` + strconv.FormatUint(ours.StartTicks(), 10) + `}]}],`
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "{", left, 1)), 0o600); err != nil {
		t.Fatalf("write the record: %v", err)
	}
	serve(t, func(o *agent.Options) { o.WorkDir = dir })
	<-ours.Done()
}

// ticks returns when a process started.
func ticks(t *testing.T, pid int) uint64 {
	t.Helper()
	is, err := process.StartTicks(pid)
	if err != nil {
		t.Fatalf("identify the process: %v", err)
	}
	return is
}
