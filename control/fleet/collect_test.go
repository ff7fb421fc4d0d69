package fleet

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// saidSum is the checksum of the file that an agent of [answers] sends.
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
		{1, "../up.csv", "../1-up.csv"}, // which the folder's root refuses
	} {
		if got := recordName(tc.n, tc.name); got != tc.want {
			t.Errorf("%q of member %d goes to %q, want %q", tc.name, tc.n, got, tc.want)
		}
	}
}

// An agent can't write outside the folder of its run.
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

// Files of another run are not mistaken for this run's.
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
