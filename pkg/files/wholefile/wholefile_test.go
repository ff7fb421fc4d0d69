package wholefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/pkg/files/wholefile"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	for _, text := range []string{"first, longer", "second"} {
		if err := wholefile.Write(name, wholefile.Bytes([]byte(text))); err != nil {
			t.Fatalf("writing %q failed: %v", text, err)
		}
		wantOnly(t, dir, text)
	}
	broken := errors.New("broken")
	err := wholefile.Write(name, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half of"); err != nil {
			t.Errorf("write the text: %v", err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("a write that failed returned %v, want %v", err, broken)
	}
	wantOnly(t, dir, "second")
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file has mode %v (%v), want 0644", info.Mode(), err)
	}
}

func TestWriteInStaysInside(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	root, err := os.OpenRoot(above)
	if err != nil {
		t.Fatalf("open the folder: %v", err)
	}
	defer root.Close()
	if err := root.Mkdir("in", 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	in, err := root.OpenRoot("in")
	if err != nil {
		t.Fatalf("open the folder: %v", err)
	}
	defer in.Close()
	if err := wholefile.WriteIn(in, "../out", wholefile.Bytes(nil)); err == nil {
		t.Error("a name above the root was written, want an error")
	}
	if _, err := os.Stat(filepath.Join(above, "out")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file above the root: %v, want none", err)
	}
}

// wantOnly fails the test unless the folder contains one file, with this content.
func wantOnly(t *testing.T, dir, text string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "file" {
		t.Errorf("the folder holds %v (%v), want only the file", entries, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || string(got) != text {
		t.Errorf("the file holds %q (%v), want %q", got, err, text)
	}
}
