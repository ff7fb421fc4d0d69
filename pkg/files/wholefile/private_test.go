package wholefile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coreos/dbtester/pkg/files/wholefile"
)

func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "secret")
	var made atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			switch err := wholefile.CreatePrivate(name, wholefile.Bytes(fmt.Appendf(nil, "secret %d", i))); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("create: %v", err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("%d of 20 concurrent creations succeeded, want 1", made.Load())
	}
	wantPrivate(t, dir, "")
	if err := wholefile.WritePrivate(name, wholefile.Bytes([]byte("other"))); err != nil {
		t.Fatalf("replace the secret: %v", err)
	}
	wantPrivate(t, dir, "other")
	failed := errors.New("disk full")
	if err := wholefile.WritePrivate(name, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a write that fails: %v", err)
	}
	wantPrivate(t, dir, "other")
}

// wantPrivate checks that dir contains only the secret, which others cannot read.
func wantPrivate(t *testing.T, dir, text string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder must hold one file: %v, %v", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "secret")); err != nil || text != "" && string(got) != text {
		t.Errorf("content %q, %v, want %q", got, err, text)
	}
}
