package faults

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUndoTooLarge: a file too large to be one of undos is refused with a whole sentence.
func TestUndoTooLarge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileUndo)
	f, err := OpenUndo(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Truncate(path, maxUndo+1); err != nil {
		t.Fatal(err)
	}
	const want = "read the undos: the file has more than 16777216 bytes"
	if list, err := f.Pending(); err == nil || err.Error() != want {
		t.Errorf("got %v, %v, want %q", list, err, want)
	}
}
