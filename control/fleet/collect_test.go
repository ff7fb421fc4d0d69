package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// saidSum is the checksum for the file from the agent in [answers].
var saidSum = func() []byte { sum := sha256.Sum256([]byte("said\n")); return sum[:] }()

func TestRecordName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		n          int
		name, want string
	}{
		{1, "server-system-metrics.csv", "1-server-system-metrics.csv"},
		{12, "logs/etcd.log", "logs/12-etcd.log"},
		{3, "session.json", ""},
		{1, "logs/deep/a.log", "logs/deep/1-a.log"},
		{1, "../up.csv", "../1-up.csv"}, // refused by the root of the folder
	} {
		if got := recordName(tc.n, tc.name); got != tc.want {
			t.Errorf("%q of member %d goes to %q, want %q", tc.name, tc.n, got, tc.want)
		}
	}
}

// Agents can't write outside the run folder.
func TestCollectStaysInside(t *testing.T) {
	t.Parallel()
	tap := answers("run")
	f := scripted(tap)
	dir := filepath.Join(t.TempDir(), "tag")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	collect := func(name string) ([][]string, error) {
		tap.OnStatus = fleettest.StatusOf(&pb.StatusResponse{Owner: &pb.Owner{RunHash: pb.RunHash("run")}, Files: []*pb.FileInfo{{Name: name}}})
		return f.Collect(t.Context(), dir)
	}
	for _, name := range []string{"../up.csv", "/etc/x.csv", "logs/../../up.csv", "out/x.csv"} {
		if names, err := collect(name); err == nil {
			t.Errorf("a file named %q was collected as %q, want an error", name, names)
		}
	}
	if _, err := collect("logs/db.log"); err != nil {
		t.Errorf("collect the files: %v", err)
	}
	above, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(above) != 1 {
		t.Errorf("above the folder are %v (%v), want only the folder", above, err)
	}
}

// Files that cannot be written here, as on a full disk, stay with their agent, which is not kept
// from another run, and can be fetched later.
func TestCollectUnwritten(t *testing.T) {
	t.Parallel()
	tap, closed, left := answers("run"), 0, 0
	tap.OnClose = func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) {
		closed++
		return &pb.CloseResponse{}, nil
	}
	tap.OnBeat = func(_ context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
		if req.GetLeaving() {
			left++
		}
		return &pb.HeartbeatResponse{}, nil
	}
	f, dir := scripted(tap, answers("run")), t.TempDir()
	inTheWay := filepath.Join(dir, "logs", "1-db.log")
	if err := os.MkdirAll(filepath.Join(inTheWay, "below"), 0o755); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	if err := f.Stop(t.Context(), func(int, Stopped) {}); err != nil {
		t.Fatalf("stop the members: %v", err)
	}
	names, err := f.Collect(t.Context(), dir)
	if err == nil || len(names[0]) != 0 || len(names[1]) != 1 {
		t.Errorf("collected %q, %v; want the file of member 2 alone, and an error", names, err)
	}
	var kept *KeptError
	if err := f.Close(t.Context()); !errors.As(err, &kept) || kept.Member != 0 || closed != 0 || left != 1 {
		t.Errorf("close: %v, and the agent was closed %d times and left %d times; want a KeptError of member 1, and that it was left", err, closed, left)
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatalf("remove a folder: %v", err)
	}
	later := Resume(Options{RunID: "run", Agents: []string{"agent-1"}, Connect: func(context.Context, string) (pb.AgentClient, io.Closer, error) {
		return tap, io.NopCloser(nil), nil
	}})
	if got, err := later.Retrieve(t.Context(), 0, dir); err != nil || got.Unreleased != nil || len(got.Files) != 1 || closed != 1 {
		t.Errorf("retrieved %+v, %v, and the agent was closed %d times; want one file and one close", got, err, closed)
	}
}

// An agent whose member may still run is closed, whatever could not be written here.
func TestUnwrittenOfRunning(t *testing.T) {
	t.Parallel()
	tap, closed := answers("run"), 0
	tap.OnClose = func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) {
		closed++
		return &pb.CloseResponse{}, nil
	}
	f := scripted(tap)
	if _, err := f.Collect(t.Context(), filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("files were collected into a folder that does not exist")
	}
	want := "agent agent-1 no longer has the records of member 1 that were not fetched"
	if err := f.Close(t.Context()); err == nil || err.Error() != want || closed != 1 {
		t.Errorf("close: %v, and the agent was closed %d times; want %q and one close", err, closed, want)
	}
}

// Files from another run are not mistaken for those of this one.
func TestCollectOfAnother(t *testing.T) {
	t.Parallel()
	tap := answers("run")
	tap.OnStatus = fleettest.StatusOf(&pb.StatusResponse{
		Owner: &pb.Owner{RunHash: pb.RunHash("hers"), Name: "ann"}, Files: []*pb.FileInfo{{Name: "logs/db.log"}},
	})
	_, err := scripted(tap).Collect(t.Context(), t.TempDir())
	if want := "list files of member 1: agent agent-1 now belongs to ann"; err == nil || err.Error() != want {
		t.Errorf("collecting the files of another run returned %v, want %s", err, want)
	}
}
