package salvage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNote(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without a note: %v", err)
	}
	mark, err := Write(dir, "secret", []string{"10.0.0.1:3500", "10.0.0.2:3500"})
	if err != nil {
		t.Fatalf("write the note: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, fileNote)); err != nil || info.Mode() != 0o600 {
		t.Errorf("the note is %v, %v, want it private", info, err)
	}
	if _, err := hold(dir); !errors.Is(err, errHeld) {
		t.Errorf("the folder of a run that goes on: %v, want it held", err)
	}
	if err := mark.Close(false); err != nil {
		t.Errorf("leave the note: %v", err)
	}
	got, err := Read(dir)
	want := Note{Format: noteFormat, RunID: "secret", Agents: []string{"10.0.0.1:3500", "10.0.0.2:3500"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("read the note (-want +got): %s, %v", diff, err)
	}
	if mark, err = Write(dir, "other", nil); err != nil {
		t.Fatalf("write the note again: %v", err)
	}
	if err := mark.Close(true); err != nil {
		t.Errorf("remove the note: %v", err)
	}
	if _, err := Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a note that was removed: %v", err)
	}
}

// FuzzRead reads any text as a note. A note without an error names a run.
func FuzzRead(f *testing.F) {
	f.Add(`{"format":1,"run_id":"x","agents":["127.0.0.1:3500",null]}`)
	f.Add(`{"format":2,"run_id":"x"}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileNote), []byte(text), 0o600); err != nil {
			t.Fatalf("write the note: %v", err)
		}
		if n, err := Read(dir); err == nil && (n.RunID == "" || n.Format != noteFormat) {
			t.Errorf("%q is read as %+v", text, n)
		}
	})
}
