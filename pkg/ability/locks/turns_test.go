package locks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Turns are read as they were written, and an invalid turn has its place in the error.
func TestTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileTurns)
	if err := WriteTurns(path, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file without turns was written")
	}
	want := []Turn{
		{Asked: 1, Placed: 2, Acquired: 3, Sent: 4, Released: 5, Stopped: 6, Fence: 7, Stage: 8, Name: 9, Contender: 10, End: Released},
		{Asked: 1, End: Waiting}, {Asked: 1, End: Refused}, {Asked: 1, End: Abandoned}, {Asked: 1, End: Lost}, {Asked: 1, End: Unclear},
	}
	if err := WriteTurns(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTurns(path)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("read %v (-want +got):\n%s", err, diff)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for old, wrong := range map[string]string{",released\n": ",kept\n", "8,9,10": "8,-9,10", "8,9,": "x,9,"} {
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, wrong, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTurns(path); err == nil || !strings.Contains(err.Error(), FileTurns+":2:") {
			t.Errorf("with %q in place of %q: %v, want an error in line 2", wrong, old, err)
		}
	}
}
