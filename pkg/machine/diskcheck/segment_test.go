package diskcheck

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// names returns the files in a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("list the folder: %v", err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// The file has its blocks while it is measured, and is gone afterwards.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var made []string
	r, err := Check(t.Context(), dir, Options{Duration: time.Hour, Count: 3}, func(path string) {
		made = append(made, path)
		if left := names(t, dir); path != "" && (len(left) != 1 || filepath.Join(dir, left[0]) != path) {
			t.Errorf("the folder has %v, want %s alone", left, path)
		}
	})
	if err != nil || r.Appends != 3 || r.Sync.Longest <= 0 || r.Both.Longest < r.Sync.Longest {
		t.Errorf("%+v (%v), want the times of 3 appends", r, err)
	}
	if len(made) != 2 || made[0] == "" || made[1] != "" {
		t.Errorf("was given the paths %q, want the file's and then none", made)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestSegment(t *testing.T) {
	t.Parallel()
	s, err := create(t.TempDir())
	if err != nil {
		t.Fatalf("create the file: %v", err)
	}
	for range 2 {
		if err := errors.Join(s.Renew(), s.Append([]byte("first")), s.Append([]byte("second")), s.Sync()); err != nil {
			t.Fatalf("use the file: %v", err)
		}
		var data [12]byte
		_, err := s.file.ReadAt(data[:], 0)
		if info, failed := s.file.Stat(); errors.Join(err, failed) != nil || info.Size() != SegmentBytes || string(data[:]) != "firstsecond\x00" {
			t.Errorf("the file begins with %q (%v), want both appends in %d bytes", data, errors.Join(err, failed), SegmentBytes)
		}
	}
	if err := os.Remove(s.file.Name()); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	if err := s.remove(); err != nil {
		t.Errorf("remove a file that is gone: %v", err)
	}
}

// A check that cannot begin or is interrupted leaves nothing.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the cause")
	cancel(cause)
	if _, err := Check(ctx, dir, Options{Duration: time.Hour}, nil); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if _, err := Check(t.Context(), filepath.Join(dir, "none"), Options{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if _, err := Check(t.Context(), file, Options{}, nil); err == nil || !strings.Contains(err.Error(), file+" must be a folder") {
		t.Errorf("error %v of a file, want that it must be a folder", err)
	}
	if _, err := Check(t.Context(), "/sys", Options{}, nil); err == nil || !strings.Contains(err.Error(), "open /sys/.dbtester-disk-check-") {
		t.Errorf("error %v of a folder that cannot be written, want the file that cannot be opened", err)
	}
}

// Files left by killed checks are removed; files of running checks and of others are not.
func TestLeftFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".dbtester-disk-check-killed", ".dbtester-disk-check-running", "another"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".dbtester-disk-check-folder"), 0o750); err != nil {
		t.Fatalf("make a folder for the test: %v", err)
	}
	running, err := os.Open(filepath.Join(dir, ".dbtester-disk-check-running"))
	if err != nil {
		t.Fatalf("open the file: %v", err)
	}
	defer running.Close()
	if err := unix.Flock(int(running.Fd()), unix.LOCK_EX); err != nil {
		t.Fatalf("lock the file: %v", err)
	}
	if _, err := Check(t.Context(), dir, Options{Count: 1}, nil); err != nil {
		t.Fatalf("check: %v", err)
	}
	if got, want := strings.Join(names(t, dir), " "), ".dbtester-disk-check-folder .dbtester-disk-check-running another"; got != want {
		t.Errorf("the folder has %s, want %s", got, want)
	}
}

func TestRemoveWithin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	for range 2 { // the second time it is gone already
		if err := RemoveWithin(file, time.Hour); err != nil {
			t.Errorf("remove the file: %v", err)
		}
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if err := RemoveWithin("/proc/self", time.Hour); err == nil {
		t.Error("no error of what cannot be removed")
	}
}
