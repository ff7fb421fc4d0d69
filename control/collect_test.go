package control

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// saidSum is the checksum of what [answers] logs.
var saidSum = func() []byte { sum := sha256.Sum256([]byte("said\n")); return sum[:] }()

func TestHomeName(t *testing.T) {
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
		if got := homeName(tc.n, tc.name); got != tc.want {
			t.Errorf("%q of member %d goes to %q, want %q", tc.name, tc.n, got, tc.want)
		}
	}
}

// An agent can't write outside the folder of its run.
func TestCollectStaysInside(t *testing.T) {
	t.Parallel()
	tap := answers("run")
	c := scripted(t, tap)
	c.dir = filepath.Join(t.TempDir(), "tag")
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(c.dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../up.csv", "/etc/x.csv", "logs/../../up.csv", "out/x.csv"} {
		if err := c.collectNamed(t, tap, name); err == nil {
			t.Errorf("%q is taken to %q", name, c.run.Members[0].Files)
		}
	}
	if err := c.collectNamed(t, tap, "logs/db.log"); err != nil {
		t.Error(err)
	}
	above, err := os.ReadDir(filepath.Dir(c.dir))
	if err != nil || len(above) != 1 {
		t.Errorf("above the folder: %v, %v", above, err)
	}
}

func (c *conductor) collectNamed(t *testing.T, tap *tapped, name string) error {
	tap.status = statusOf(&pb.StatusResponse{Owner: &pb.Owner{RunId: "run"}, Files: []*pb.FileInfo{{Name: name}}})
	return c.collect(t.Context(), c.agents[0])
}

// Files of another run are not taken for this one's.
func TestCollectOfAnother(t *testing.T) {
	t.Parallel()
	tap := answers("run")
	tap.status = statusOf(&pb.StatusResponse{
		Owner: &pb.Owner{RunId: "hers", Name: "ann"}, Files: []*pb.FileInfo{{Name: "logs/db.log"}},
	})
	err := scripted(t, tap).collect(t.Context(), scripted(t, tap).agents[0])
	if want := "list files of member 1: agent agent-1 belongs to ann by now"; message(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
