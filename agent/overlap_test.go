package agent_test

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
)

// back is seen when a fault ended a one-process member and started it again.
const back = "1 processes run, none of those before"

// ballast is the file that fills a member's disk.
const ballast = ".dbtester-ballast"

// cuttable gives each member its own disk, which may be cut.
func cuttable(t *testing.T) func(*agent.Options) {
	t.Helper()
	if err := owndisk.Check(); err != nil {
		t.Skip(err)
	}
	return func(o *agent.Options) { allowed(o); o.Disk = "loop:64MiB" }
}

// down fails the test if the member runs.
func (h *harness) down(when string) {
	h.t.Helper()
	if got := h.status(); got.State != pb.State_STATE_RUNNING || got.Children[0].Running {
		h.t.Errorf("%s: %v, want a running session whose member is down", when, got)
	}
}

// A member that was killed stays down when another of its faults is over or fails, until its kill
// is over.
func TestKilledStaysDown(t *testing.T) {
	h := serve(t, allowed)
	h.open("run1")
	req := request(t, "run1", "")
	req.Faults = []*pb.FaultKind{stall}
	h.start(req)
	h.awaitReady()
	if got := h.ask("disk", stall); got.Failed != "" {
		t.Fatalf("stall the disk: %v", got)
	}
	h.fault("kill", "kill", forever)
	if got := h.ask("late", &pb.FaultKind{Kind: "kill"}); got.Failed != "no process of the member runs" || got.SawOver != "" {
		t.Errorf("a second kill is %v", got)
	}
	h.down("after a second kill")
	// The toy puts nothing on disk, so this fault had no effect.
	if got, err := h.Heal(t.Context(), &pb.HealRequest{RunId: h.run, Id: "disk"}); err != nil || got.OverUnixNs == 0 {
		t.Fatalf("the end of the stall: %v, %v", got, err)
	}
	h.down("after the end of the stall")
	if over := h.heal("kill"); over.SawOver != back {
		t.Errorf("the kill is %v, want %q", over, back)
	}
	h.awaitReady()
}

// A member that two faults pause stays stopped until both are over, in either order. What is seen
// at the first end names the other pause.
func TestPausedTwice(t *testing.T) {
	for _, ends := range [][2]string{{"1", "2"}, {"2", "1"}} {
		t.Run(ends[0]+" ends first", func(t *testing.T) {
			h := serve(t, allowed)
			pid := h.startedMember("run1")
			started := ticks(t, pid)
			h.fault("1", "pause", forever)
			h.fault("2", "pause", forever)
			if over := h.heal(ends[0]); over.SawOver != "1 of 1 processes are stopped: another pause lasts" || !process.Stopped(pid, started) {
				t.Errorf("the first pause is %v, want a member that the second keeps stopped", over)
			}
			if over := h.heal(ends[1]); over.SawOver != "0 of 1 processes are stopped" || process.Stopped(pid, started) {
				t.Errorf("the second pause is %v, want a member that runs", over)
			}
			h.awaitReady()
		})
	}
}

// A member without power stays down, and its disk unmounted, when its other disk faults are over.
// What filled the disk is gone when power is back.
func TestPowerlessStaysDown(t *testing.T) {
	h := serve(t, cuttable(t))
	h.open("run1")
	req := request(t, "run1", "")
	req.Faults = []*pb.FaultKind{stall, full, {Kind: "power"}}
	dir := h.start(req).Dir
	h.awaitReady()
	for id, k := range map[string]*pb.FaultKind{"stall": stall, "full": full} {
		if got := h.ask(id, k); got.Failed != "" {
			t.Fatalf("%s: %v", id, got)
		}
	}
	disk := owndisk.Disk{Point: dir}
	if err := disk.Sync(); err != nil { // the power failure loses nothing that fills the disk
		t.Fatal(err)
	}
	h.fault("power", "power", forever)
	if got, err := h.Heal(t.Context(), &pb.HealRequest{RunId: h.run, Id: "stall"}); err != nil || got.OverUnixNs == 0 {
		t.Fatalf("the end of the stall: %v, %v", got, err)
	}
	if over := h.heal("full"); !strings.Contains(over.SawOver, "were free at its end") {
		t.Errorf("the full disk is %v", over)
	}
	h.down("after the ends of the faults of its disk")
	if is, err := disk.Mounted(); err != nil || is {
		t.Errorf("without power the disk is mounted: %v, %v", is, err)
	}
	if over := h.heal("power"); over.SawOver != "the disk is mounted again; "+back {
		t.Errorf("the power failure is %v", over)
	}
	h.awaitReady()
	if is, err := disk.Mounted(); err != nil || !is {
		t.Errorf("with power the disk is mounted: %v, %v", is, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ballast)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what filled the disk: %v, want it gone", err)
	}
	if got := h.ask("again", full); got.Failed != "" {
		t.Errorf("fill the disk again: %v", got)
	}
}

// A member that outlives its deadline after SIGKILL is started again at once, on a disk that is not
// cut any more, although the fault has failed.
func TestEndedTooLate(t *testing.T) {
	for _, kind := range []string{"kill", "power"} {
		t.Run(kind, func(t *testing.T) {
			options := allowed
			if kind == "power" {
				options = cuttable(t)
			}
			h := serve(t, func(o *agent.Options) { options(o); o.Deadlines.Kill = 1 })
			h.open("run1")
			req := request(t, "run1", "")
			req.Faults = []*pb.FaultKind{{Kind: kind}}
			dir := h.start(req).Dir
			h.awaitReady()
			var got *pb.FaultResponse
			for try := range 100 {
				id := strconv.Itoa(try)
				if got = h.ask(id, req.Faults[0]); got.Failed != "" {
					break
				}
				h.heal(id) // the member has ended in time
				h.awaitReady()
			}
			if !strings.Contains(got.Failed, "still running after kill") {
				t.Errorf("the fault is %v, want a member that outlives its deadline", got)
			}
			if !strings.HasSuffix(got.SawOver, back) || strings.Contains(got.Failed, "undo") || got.OverUnixNs == 0 {
				t.Fatalf("the fault is %v, want it undone: %q", got, back)
			}
			h.awaitReady()
			if err := os.WriteFile(filepath.Join(dir, "late"), nil, 0o600); err != nil {
				t.Errorf("the disk: %v", err)
			}
			if got := h.stopped("run1"); got.Reason != "asked" {
				t.Errorf("stop: %v", got)
			}
		})
	}
}

// A fault that cannot fill a disk leaves nothing on it, so that a later one can.
func TestFilledInPart(t *testing.T) {
	if !namespacetest.Rights(t, syscall.CLONE_NEWNS) {
		return
	}
	if k, err := fault.Find("disk"); err != nil || k.Possible() != nil {
		t.Skip("needs a kernel that holds the calls of a member")
	}
	disk := givenDisk(t)
	h := serve(t, func(o *agent.Options) { o.Disk, o.AllowFaults = disk, []string{"disk"} })
	h.open("run1")
	req := request(t, "run1", "")
	req.Faults = []*pb.FaultKind{full}
	dir := h.start(req).Dir
	h.awaitReady()
	free := filesUpTo(t, 1<<20)
	got := h.ask("1", full)
	free()
	if !strings.Contains(got.Failed, unix.EFBIG.Error()) || got.SawOver != "" {
		t.Errorf("a fault that may not fill the disk is %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, ballast)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what filled the disk: %v, want it gone", err)
	}
	if got := h.ask("2", full); got.Failed != "" {
		t.Errorf("fill the disk: %v", got)
	}
	// While the disk is full, a failure does not free it.
	if got := h.ask("3", full); !strings.Contains(got.Failed, "file exists") {
		t.Errorf("fill a full disk: %v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "late"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a write to a full disk: %v", err)
	}
	h.heal("2")
}

// filesUpTo bounds the size in bytes to which this process can make files longer, until free is
// called.
func filesUpTo(t *testing.T, size uint64) (free func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		signal.Reset(unix.SIGXFSZ)
	}
}
