package logfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A log this process writes keeps its bound at every moment, even if another process continues it.
func TestWriter(t *testing.T) {
	t.Parallel()
	b := Bound{Head: 4096, Tail: 8192, Slack: 2048}
	l := &appended{t: t, path: filepath.Join(t.TempDir(), "agent.log")}
	open := func() *Writer {
		f, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatalf("open the log: %v", err)
		}
		w, err := NewWriter(f, b)
		if err != nil {
			t.Fatalf("continue the log: %v", err)
		}
		return w
	}
	for start := range 3 {
		w := open()
		for i := range 400 {
			text := fmt.Appendf(nil, "start %d line %d %s\n", start, i, bytes.Repeat([]byte("x"), i%97))
			if n, err := w.Write(text); n != len(text) || err != nil {
				t.Fatalf("write %d bytes: %d, %v", len(text), n, err)
			}
			l.all = append(l.all, text...)
			l.check(b, l.kept(b))
		}
		if err := w.Close(); err != nil {
			t.Fatalf("close the log: %v", err)
		}
	}
	if len(l.all) < 3*int(b.Most()) {
		t.Fatalf("the test wrote %d bytes, want several times %d", len(l.all), b.Most())
	}
}

// A log that cannot be written is an error.
func TestWriterFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatalf("open the log: %v", err)
	}
	w, err := NewWriter(f, DefaultBound())
	if err != nil {
		t.Fatalf("begin the log: %v", err)
	}
	f.Close()
	if _, err := w.Write([]byte("lost\n")); err == nil {
		t.Error("a write to a closed file must fail")
	}
	if w, err := NewWriter(f, DefaultBound()); err == nil {
		t.Errorf("a closed file made the writer %v", w)
	}
}
