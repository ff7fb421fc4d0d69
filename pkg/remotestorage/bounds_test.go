package remotestorage

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileStore lists and sends what it likes.
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

// A store of others writes nothing outside the folder, and no more than the bounds and than
// it said.
func TestHostileStore(t *testing.T) {
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
		if _, err := Download(t.Context(), s, filepath.Join(above, "run"), most, nil); err == nil || s.reads > 0 {
			t.Errorf("%s: %d objects are read: %v", name, s.reads, err)
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
