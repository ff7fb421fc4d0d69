package linefile

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"
)

// shortFile accepts only so many bytes.
type shortFile struct {
	bytes.Buffer
	room      int
	truncated bool
	stuck     bool
}

func (f *shortFile) Write(b []byte) (int, error) {
	if len(b) <= f.room {
		f.room -= len(b)
		return f.Buffer.Write(b)
	}
	n, _ := f.Buffer.Write(b[:f.room])
	f.room = 0
	return n, syscall.ENOSPC
}

func (f *shortFile) Truncate(size int64) error {
	if f.stuck {
		return syscall.EIO
	}
	f.truncated = true
	f.Buffer.Truncate(int(size))
	return nil
}

func (f *shortFile) Close() error { return nil }

func TestPartialWriteIsCutBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		room int
		want string
		cut  bool
	}{
		{"nothing fits", 4, "one\n", false},
		{"part of a row", 6, "one\n", true},
		{"a row and a part", 10, "one\ntwo\n", true},
		{"all but the line break", 13, "one\ntwo\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &shortFile{room: tc.room}
			r := &File{path: "rows.csv", f: f}
			if err := r.Append([]byte("one\n")); err != nil {
				t.Fatalf("append a line that fits: %v", err)
			}
			err := r.Append([]byte("two\nthree\n"))
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "rows.csv") {
				t.Errorf("want an error with the file's name and its cause, got %v", err)
			}
			f.room = 1000
			if again := r.Append([]byte("four\n")); again != err {
				t.Errorf("a later write: want the first error again, got %v", again)
			}
			if f.String() != tc.want || f.truncated != tc.cut {
				t.Errorf("want the file to hold %q and truncated %v, got %q and %v", tc.want, tc.cut, f, f.truncated)
			}
		})
	}
}

func TestPartialWriteThatStays(t *testing.T) {
	r := &File{path: "rows.csv", f: &shortFile{room: 2, stuck: true}}
	err := r.Append([]byte("one\n"))
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EIO) {
		t.Errorf("want the causes of both failures, got %v", err)
	}
}
