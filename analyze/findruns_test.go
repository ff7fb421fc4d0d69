package analyze

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunsBelow(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/20260102T150405Z", "b/20260102T150405Z/etcd/inner", "a/20260103T150405Z", "a/report", ".work/x", "1/2/3/4", "1/2/3/4/5"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "report" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name, "manifest.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "a", "again")); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "1/2/3/4"), filepath.Join(dir, "a/20260103T150405Z"), filepath.Join(dir, "b/20260102T150405Z")}
	if diff := cmp.Diff(want, RunsBelow(dir)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if got := RunsBelow(filepath.Join(dir, "absent")); len(got) > 0 {
		t.Errorf("runs below a folder that is not there: %q", got)
	}
}
