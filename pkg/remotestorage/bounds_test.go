package remotestorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// hostileStore lists and sends any objects, whatever their names and sizes.
type hostileStore struct {
	Store   // nil: nothing else is called
	objects []Object
	sends   string
	reads   int
}

func (s *hostileStore) List(context.Context, string) ([]Object, error) { return s.objects, nil }

func (s *hostileStore) Read(context.Context, string) (io.ReadCloser, error) {
	s.reads++
	return io.NopCloser(strings.NewReader(s.sends)), nil
}

// A hostile store writes nothing outside the folder, and neither more than the bounds nor more than
// it said.
func TestHostileStore(t *testing.T) {
	slowtest.Skip(t)
	most := Bounds{Objects: 3, Bytes: 100}
	for name, objects := range map[string][]Object{
		"a name above":         {{Name: "../evil", Size: 4}},
		"a name in the midst":  {{Name: "etcd/../../evil", Size: 4}},
		"an absolute name":     {{Name: "/evil", Size: 4}},
		"no name":              {{Name: "", Size: 4}},
		"a terminal's escape":  {{Name: "a\x1b[2J", Size: 4}},
		"a line break":         {{Name: "a\nb", Size: 4}},
		"many objects":         {{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}},
		"many bytes":           {{Name: "a", Size: 60}, {Name: "b", Size: 41}},
		"a sum that overflows": {{Name: "a", Size: 50}, {Name: "b", Size: 1<<63 - 1}},
		"a negative size":      {{Name: "a", Size: -1}},
	} {
		s := &hostileStore{objects: objects, sends: "evil"}
		above := t.TempDir()
		_, err := Download(t.Context(), s, filepath.Join(above, "run"), most, nil)
		if err == nil || s.reads > 0 {
			t.Errorf("%s: %d objects are read: %v", name, s.reads, err)
		}
		if many := strings.HasPrefix(name, "many") || strings.HasPrefix(name, "a sum"); many && !errors.Is(err, ErrBounds) || strings.Contains(name, "name") && errors.Is(err, ErrBounds) {
			t.Errorf("%s: whether larger bounds would help is wrong: %v", name, err)
		}
		if left, err := os.ReadDir(above); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is written, %v", name, left, err)
		}
	}
	s := &hostileStore{objects: []Object{{Name: "a", Size: 4}}, sends: string(bytes.Repeat([]byte("evil"), 1000))}
	dir := t.TempDir()
	if _, err := Download(t.Context(), s, dir, most, nil); err == nil {
		t.Error("an object that is larger than its size must be refused")
	}
	if info, err := os.Stat(filepath.Join(dir, "a")); err == nil && info.Size() > 5 {
		t.Errorf("%d bytes of an object of 4 are written", info.Size())
	}
}

// Files that are fetched by name have bounds too. Objects with other names count for nothing.
func TestBoundsOfFiles(t *testing.T) {
	dir := t.TempDir()
	files := []File{{filepath.Join(dir, "a"), "a"}, {filepath.Join(dir, "b"), "b"}, {filepath.Join(dir, "absent"), "absent"}}
	for name, tt := range map[string]struct {
		objects []Object
		fits    bool
	}{
		"as many as may be":      {[]Object{{Name: "../x", Size: 1 << 40}, {Name: "a", Size: 4}, {Name: "b", Size: 4}, {Name: "c", Size: 1 << 40}}, true},
		"many bytes":             {[]Object{{Name: "a", Size: 4}, {Name: "b", Size: 97}}, false},
		"a sum that overflows":   {[]Object{{Name: "a", Size: 4}, {Name: "b", Size: 1<<63 - 1}}, false},
		"a negative size":        {[]Object{{Name: "a", Size: -1}}, false},
		"a name again and again": {[]Object{{Name: "a", Size: 4}, {Name: "a", Size: 4}, {Name: "a", Size: 4}, {Name: "a", Size: 4}}, false},
	} {
		s := &hostileStore{objects: tt.objects, sends: "evil"}
		sum, err := DownloadFiles(t.Context(), s, files, Bounds{Objects: 3, Bytes: 100}, nil)
		switch {
		case tt.fits && (err != nil || sum.Sent != 2 || sum.Files != 3 || sum.Bytes != 8):
			t.Errorf("%s: %+v, %v; want 2 of 3 files with 8 bytes", name, sum, err)
		case !tt.fits && (!errors.Is(err, ErrBounds) || s.reads > 0):
			t.Errorf("%s: %d objects are read: %v", name, s.reads, err)
		}
	}
}

// An object that is too large stays so: no request is repeated.
func TestBoundsAreFinal(t *testing.T) {
	for _, final := range []error{ErrBounds, errListed} {
		asked := 0
		err := again(t.Context(), func() error {
			asked++
			return fmt.Errorf("list: %w: it has more", final)
		})
		if asked != 1 || !errors.Is(err, final) {
			t.Errorf("%v: asked %d times, want once: %v", final, asked, err)
		}
	}
}

// A hostile folder leads nowhere else, and nothing waits for a pipe without a writer.
func TestFolderOfOthers(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{outside: "secret", filepath.Join(dir, "manifest.json"): "{}"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")), os.Symlink("/dev/zero", filepath.Join(dir, "zero")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if _, err := Download(t.Context(), open(t, "file://"+dir, Options{}), to, Bounds{Objects: 10, Bytes: 1 << 20}, nil); err != nil {
		t.Fatalf("download: %v", err)
	}
	if left := contents(t, to); len(left) != 1 || left["manifest.json"] != "{}" {
		t.Errorf("%q is fetched, want the regular file alone", left)
	}
}
