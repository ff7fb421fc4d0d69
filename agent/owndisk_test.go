package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
)

// givenDisk mounts a file system for a member until the test ends.
func givenDisk(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatalf("mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount the file system: %v", err)
		}
	})
	return dir
}

// empty fails the test if anything is on a disk.
func empty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("on the disk are %v, %v; want nothing", entries, err)
	}
}

// A file system that was mounted for a member holds its data, is full while the fault lasts, and
// is empty afterwards, whoever ends the session, even if the agent was killed. It is not cut.
func TestGivenDisk(t *testing.T) {
	if !namespacetest.Rights(t, syscall.CLONE_NEWNS) {
		return
	}
	full := &pb.FaultKind{Kind: "disk", Parameters: fault.Parameters{Full: true}.Encoded(), Place: "file.yaml:1:2"}
	if k, err := fault.Find("disk"); err != nil || k.Possible() != nil {
		t.Skip("needs a kernel that holds the calls of a member")
	}
	dir, work := givenDisk(t), t.TempDir()
	given := func(o *agent.Options) { o.WorkDir, o.Disk, o.AllowFaults = work, dir, []string{"disk", "power"} }
	h := serve(t, given)
	if _, err := agent.New(agent.Options{Registry: registry(), WorkDir: t.TempDir(), Disk: dir}); err == nil || !strings.Contains(err.Error(), "another agent's member") {
		t.Errorf("a second agent with the same disk got %v, want a refusal", err)
	}
	h.open("run1")
	req := request(t, "run1", "")
	req.Faults = []*pb.FaultKind{full}
	cut := request(t, "run1", "")
	cut.Faults = []*pb.FaultKind{{Kind: "power", Place: "file.yaml:3:4"}}
	if _, err := h.Start(t.Context(), cut); os.Geteuid() == 0 {
		wantCode(t, err, codes.FailedPrecondition, "file.yaml:3:4: the fault power needs a disk that the agent has mounted itself")
	}
	started := h.start(req)
	h.awaitReady()
	if want := filepath.Join(dir, "dbtester-member"); started.Dir != want {
		t.Errorf("the member's directory is %q, want %q", started.Dir, want)
	}
	if got, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: "run1", Id: "1", Fault: full, ForNs: forever}); err != nil || got.Failed != "" || !strings.Contains(got.Saw, "were left of the disk") {
		t.Fatalf("fill the disk: %v, %v", got, err)
	}
	late := filepath.Join(started.Dir, "late")
	if err := os.WriteFile(late, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a write to a full disk: %v", err)
	}
	if over := h.heal("1"); !strings.Contains(over.SawOver, "were free at its end") {
		t.Errorf("healed: %v", over)
	}
	if err := os.WriteFile(late, make([]byte, 1<<20), 0o600); err != nil {
		t.Errorf("a write after the fault: %v", err)
	}
	// Such a fault alone needs no tap.
	stall := &pb.FaultKind{Kind: "disk", Parameters: fault.Parameters{Fsync: "stall"}.Encoded()}
	if got, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: "run1", Id: "held", Fault: stall, ForNs: forever}); err != nil || !strings.Contains(got.Failed, "without a tap") {
		t.Errorf("a fault that holds the calls of a member without a tap: %v, %v", got, err)
	}
	if got, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: "run1", Id: "2", Fault: full, ForNs: forever}); err != nil || got.Failed != "" {
		t.Fatalf("fill the disk again: %v, %v", got, err)
	}
	h.heal("2")
	// A store that notices too late that its disk was full ends itself after the fault.
	pid := int(h.status().Children[0].Pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.await("started again", func(s *pb.StatusResponse) bool { return s.Children[0].Running && int(s.Children[0].Pid) != pid })
	if got, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: "run1", Id: "3", Fault: full, ForNs: forever}); err != nil || got.Failed != "" {
		t.Fatalf("fill the disk once more: %v, %v", got, err)
	}
	session := filepath.Join(work, "toy-v1-"+pb.RunHash("run1")[:8], "session.json")
	record, err := os.ReadFile(session)
	if err != nil {
		t.Fatal(err)
	}
	h.stopped("run1")
	empty(t, dir)
	h.close()

	// The state after a killed agent: its record, and a full disk.
	for name, disk := range map[string]string{"with the disk": dir, "with another disk": ""} {
		if err := errors.Join(os.WriteFile(session, record, 0o600), os.Mkdir(started.Dir, 0o700), os.WriteFile(filepath.Join(started.Dir, ".dbtester-ballast"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		h = serve(t, func(o *agent.Options) { given(o); o.Disk = disk })
		h.close()
		if _, err := os.Stat(filepath.Join(started.Dir, ".dbtester-ballast")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an agent that starts %s leaves it full, %v", name, err)
		}
		if err := os.RemoveAll(started.Dir); err != nil {
			t.Fatal(err)
		}
	}

	// Another agent has the disk by now: the earlier agent's record says nothing about its member.
	other := serve(t, func(o *agent.Options) { given(o); o.WorkDir = t.TempDir() })
	other.open("run2")
	req.RunId = "run2"
	other.start(req)
	other.awaitReady()
	if got, err := other.Fault(t.Context(), &pb.FaultRequest{RunId: "run2", Id: "1", Fault: full, ForNs: forever}); err != nil || got.Failed != "" {
		t.Fatalf("fill the disk of another agent: %v, %v", got, err)
	}
	if err := os.WriteFile(session, record, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.New(agent.Options{Registry: registry(), WorkDir: work, Disk: dir}); err == nil || !strings.Contains(err.Error(), "another agent's member") {
		t.Errorf("the earlier agent with the disk of another agent got %v, want a refusal", err)
	}
	h = serve(t, func(o *agent.Options) { given(o); o.Disk = "" })
	h.close()
	if _, err := os.Stat(filepath.Join(started.Dir, ".dbtester-ballast")); err != nil {
		t.Errorf("the earlier agent freed the full disk of another agent's member: %v", err)
	}
	other.stopped("run2")
	empty(t, dir)
}

// A disk that somebody else has begun to use, or has unmounted, is refused at the dry run, with the
// place of the fault.
func TestGivenDiskIsTaken(t *testing.T) {
	if !namespacetest.Rights(t, syscall.CLONE_NEWNS) {
		return
	}
	if _, err := agent.New(agent.Options{Registry: registry(), WorkDir: t.TempDir(), Disk: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "a file system of its own must be mounted at") {
		t.Errorf("a directory of the work directory's file system got %v, want a refusal", err)
	}
	dir := givenDisk(t)
	h := serve(t, func(o *agent.Options) { o.Disk, o.AllowFaults = dir, []string{"disk"} })
	h.open("run1")
	req := request(t, "run1", "")
	req.DryRun = true
	req.Faults = []*pb.FaultKind{{Kind: "disk", Parameters: fault.Parameters{Full: true}.Encoded(), Place: "file.yaml:1:2"}}
	if err := os.WriteFile(filepath.Join(dir, "photo"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := h.Start(t.Context(), req)
	wantCode(t, err, codes.FailedPrecondition, "file.yaml:1:2: ", "it must be empty, and has \"photo\"")
	req.DryRun, req.Faults = false, nil
	if _, err := h.Start(t.Context(), req); err == nil || !strings.Contains(err.Error(), "photo") {
		t.Errorf("a member on a disk that others use started with %v, want a refusal", err)
	}
}
