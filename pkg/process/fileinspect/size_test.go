package fileinspect_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/process/fileinspect"
)

func write(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatalf("make the folders: %v", err)
	}
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
}

func size(t *testing.T, dirs ...string) fileinspect.Sizes {
	t.Helper()
	sizes, err := fileinspect.Size(dirs...)
	if err != nil {
		t.Fatalf("measure the directory: %v", err)
	}
	return sizes
}

func TestSizeCountsEachFileOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), 1000)
	write(t, filepath.Join(dir, "sub", "b"), 5000)
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "sub", "linked")); err != nil {
		t.Fatalf("make a hard link: %v", err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	if got := size(t, dir); got.Apparent != 6000 || got.Files != 2 || got.Allocated < 6000 || got.Allocated%512 != 0 {
		t.Errorf("%+v; want 6000 apparent bytes in 2 files, at least as much allocated", got)
	}
	if got, want := size(t, dir, filepath.Join(dir, "sub")), size(t, dir); got != want {
		t.Errorf("a directory inside another: %+v, want %+v", got, want)
	}
}

func TestSizeTellsHolesFromData(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "preallocated")
	write(t, path, 0)
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatalf("truncate the file: %v", err)
	}
	if got := size(t, dir); got.Apparent != 64<<20 || got.Allocated > 1<<20 {
		t.Errorf("%+v; want 64 MiB apparent and nearly nothing allocated", got)
	}
}

func TestSizeOfNothing(t *testing.T) {
	if got := size(t, t.TempDir()); got != (fileinspect.Sizes{}) {
		t.Errorf("empty directory: %+v", got)
	}
	if got := size(t); got != (fileinspect.Sizes{}) {
		t.Errorf("no directory: %+v", got)
	}
	if _, err := fileinspect.Size(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestSizeWhileFilesVanish(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "stays"), 10)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			sub := filepath.Join(dir, fmt.Sprint("sub", i%8))
			_ = os.Mkdir(sub, 0o750)
			_ = os.WriteFile(filepath.Join(sub, "f"), nil, 0o600)
			_ = os.RemoveAll(sub)
		}
	})
	for range 300 {
		if got := size(t, dir); got.Apparent != 10 {
			t.Errorf("%+v", got)
		}
	}
	close(stop)
	wg.Wait()
}
