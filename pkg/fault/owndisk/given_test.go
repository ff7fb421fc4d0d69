//go:build linux

package owndisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process/namespacetest"
)

// mountTest mounts something until the test ends.
func mountTest(t *testing.T, source, dir, kind string, flags uintptr, options string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, dir, kind, flags, options); err != nil {
		t.Fatalf("mount %s at %s: %v", kind, dir, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
}

// Only a separate, empty file system may be filled.
func TestCheckDir(t *testing.T) {
	if !namespacetest.Rights(t, syscall.CLONE_NEWNS) {
		return
	}
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	mountTest(t, "tmpfs", at("good"), "tmpfs", 0, "size=64m")
	mountTest(t, "tmpfs", at("huge"), "tmpfs", 0, "size=16t")
	mountTest(t, "tmpfs", at("work"), "tmpfs", 0, "size=64m")
	mountTest(t, "tmpfs", at("used"), "tmpfs", 0, "size=64m")
	mountTest(t, "tmpfs", at("read only"), "tmpfs", unix.MS_RDONLY, "size=64m")
	mountTest(t, "tmpfs", at("twice"), "tmpfs", 0, "size=64m")
	mountTest(t, at("twice"), at("second"), "", unix.MS_BIND, "")
	mountTest(t, "proc", at("proc"), "tmpfs", 0, "size=64m")
	mountTest(t, "/proc", at("proc"), "", unix.MS_BIND|unix.MS_REC, "")
	for _, dir := range []string{"plain", "good/lost+found", "good/" + memberDir, "used/mine", "work/agent"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mountTest(t, at("used/mine"), at("part"), "", unix.MS_BIND, "")
	for dir, want := range map[string]string{
		"good": "", "plain": "must be mounted at", "huge": "a quarter of the memory", "work": "the work directory is on it too", "used/mine": "must be mounted at",
		"used": "mounted at", "read only": "must be writable", "twice": "second\" too", "second": "is mounted at", "proc": "is mounted at", "part": "only its directory", "none": "no such file",
	} {
		err := CheckDir(at(dir), at("work/agent/made later"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
	if err := CheckDir("/", at("work")); err == nil || !strings.Contains(err.Error(), "/ is on it too") {
		t.Errorf("the root of all: %v", err)
	}
}

// A disk the user has mounted belongs to one agent at a time, by whatever path.
func TestHold(t *testing.T) {
	if !namespacetest.Rights(t, syscall.CLONE_NEWNS) {
		return
	}
	top := t.TempDir()
	one, two := filepath.Join(top, "one"), filepath.Join(top, "two")
	mountTest(t, "tmpfs", one, "tmpfs", 0, "size=64m")
	mountTest(t, one, two, "", unix.MS_BIND, "")
	held, err := Hold(one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(two); err == nil || !strings.Contains(err.Error(), "another agent's member") {
		t.Errorf("the disk of another agent is held, %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err = Hold(two); err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

// All writes to a disk the user has mounted stay in the member's folder, which is removed in the
// end.
func TestGiven(t *testing.T) {
	t.Run("tmpfs", func(t *testing.T) {
		if !namespacetest.Rights(t, syscall.CLONE_NEWNS) {
			return
		}
		dir := filepath.Join(t.TempDir(), "disk")
		mountTest(t, "tmpfs", dir, "tmpfs", 0, "size=64m")
		given(t, dir)
	})
	t.Run("ext4", func(t *testing.T) {
		given(t, disk(t).Point)
	})
}

func given(t *testing.T, dir string) {
	t.Helper()
	d := In(dir)
	if is, err := d.Mounted(); is {
		t.Errorf("a disk without the member's folder is mounted, %v", err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(d.MakeIn(), write(t, d, "a file", true), os.WriteFile(outside, nil, 0o600), os.Symlink(outside, filepath.Join(d.Point, "link"))); err != nil {
		t.Fatal(err)
	}
	if is, err := d.Mounted(); err != nil || !is {
		t.Errorf("mounted %v, %v", is, err)
	}
	if err := d.Cut(); !errors.Is(err, errKept) {
		t.Errorf("the disk of somebody else is cut: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := d.Fill(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("filled after the end: %v", err)
	}
	n, err := d.Fill(t.Context()) // the other one has left nothing
	if err != nil || n < Least/2 {
		t.Fatalf("filled with %d bytes, %v", n, err)
	}
	if err := write(t, d, "late", true); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a write to a full disk: %v", err)
	}
	if err := errors.Join(d.Drain(), d.Drain(), write(t, d, "late", true)); err != nil {
		t.Error(err)
	}
	// As a control that is killed leaves it.
	if _, err := d.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	session := filepath.Join(work, "agent-1", "session")
	if err := errors.Join(os.MkdirAll(session, 0o755), os.Symlink(d.Point, filepath.Join(session, "data")), DrainBelow(work)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(write(t, d, "again", true), d.MakeIn(), d.Unmount(t.Context()), d.Unmount(t.Context())); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if left := fmt.Sprint(entries); err != nil || strings.Contains(left, memberDir) {
		t.Errorf("left on the disk: %s, %v", left, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
