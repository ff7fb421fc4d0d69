//go:build linux

package owndisk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds operations that need not be quick.
const patience = 5 * time.Minute

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"loop:64MiB": 64 << 20, "loop:2GiB": 2 << 30, "loop:1TiB": 1 << 40} {
		if got, err := Size(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "loop:", "loop:1", "2GiB", "loop:-1GiB", "loop:63MiB", "loop:1GB", "loop:1GiBGiB", "loop:9999999TiB", "loop:1.5GiB"} {
		if got, err := Size(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// disk returns a disk that is removed when the test ends.
func disk(t *testing.T) Disk {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	d := Disk{Image: filepath.Join(dir, "image"), Point: filepath.Join(dir, "point")}
	if err := os.Mkdir(d.Point, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), d, Least); err != nil {
		if errors.Is(err, unix.EPERM) {
			t.Skipf("needs the right to mount: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Unmount(context.Background()); err != nil {
			t.Error(err)
		}
		left := attached(t, d.Image)
		// Mount namespaces that other tests made while the disk was mounted still have it.
		for begin := time.Now(); left != "" && time.Since(begin) < patience; left = attached(t, d.Image) {
			time.Sleep(50 * time.Millisecond)
		}
		if left != "" {
			t.Errorf("%s is left", left)
		}
	})
	return d
}

// attached returns the loop device of a file, or "".
func attached(t *testing.T, image string) string {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(text)) == image {
			return f
		}
	}
	return ""
}

// write writes a file on the disk.
func write(t *testing.T, d Disk, name string, sync bool) error {
	t.Helper()
	f, err := os.Create(filepath.Join(d.Point, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		return err
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// After a cut a disk has the data that was put on disk before, and nothing else.
func TestCut(t *testing.T) {
	d := disk(t)
	if err := errors.Join(write(t, d, "before", false), d.Sync(), write(t, d, "synced", true), write(t, d, "cached", false), d.Cut()); err != nil {
		t.Fatal(err)
	}
	if err := write(t, d, "late", false); !errors.Is(err, unix.EIO) {
		t.Errorf("a write after the cut: %v", err)
	}
	if err := errors.Join(d.Unmount(t.Context()), d.Unmount(t.Context()), d.Mount()); err != nil {
		t.Fatal(err)
	}
	if is, err := d.Mounted(); err != nil || !is {
		t.Errorf("mounted %v, %v", is, err)
	}
	for _, name := range []string{"before", "synced"} {
		if info, err := os.Stat(filepath.Join(d.Point, name)); err != nil || info.Size() != 1<<20 {
			t.Errorf("what was on disk: %v, %v", info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(d.Point, "cached")); err == nil && info.Size() > 0 {
		t.Error("what was not on disk is there")
	}
	if err := write(t, d, "again", true); err != nil {
		t.Error(err)
	}
}

// A disk that is full takes nothing, and takes all again afterwards.
func TestFill(t *testing.T) {
	d := disk(t)
	n, err := d.Fill(t.Context())
	if err != nil || n < Least/2 {
		t.Fatalf("filled with %d bytes, %v", n, err)
	}
	if err := write(t, d, "late", true); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a write to a full disk: %v", err)
	}
	if err := errors.Join(d.Drain(), d.Drain(), write(t, d, "late", true)); err != nil {
		t.Error(err)
	}
}

// Disks that were left below a directory are unmounted; the disks of others stay.
func TestUnmountBelow(t *testing.T) {
	left, other := disk(t), disk(t)
	for range 2 { // also with nothing left
		if err := UnmountBelow(t.Context(), filepath.Dir(left.Point)); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := left.Mounted(); err != nil || is {
		t.Errorf("a disk that was left is mounted %v, %v", is, err)
	}
	if is, err := other.Mounted(); err != nil || !is {
		t.Errorf("another disk is mounted %v, %v", is, err)
	}
}
