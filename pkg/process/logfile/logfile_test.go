package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// appended is a log that a process appends to, and the bytes it wrote.
type appended struct {
	t    testing.TB
	path string
	out  *os.File
	all  []byte
}

func newLog(t testing.TB, dir string) *appended {
	path := filepath.Join(dir, "db.log")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return &appended{t: t, path: path, out: out}
}

func (l *appended) write(text []byte) {
	if _, err := l.out.Write(text); err != nil {
		l.t.Fatal(err)
	}
	l.all = append(l.all, text...)
}

// trim trims the log as an agent does.
func (l *appended) trim(b Bound) Cut {
	f, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	cut, err := b.Trim(f)
	if err != nil {
		l.t.Fatal(err)
	}
	return cut
}

// kept reads the rest of the log.
func (l *appended) kept(b Bound) []byte {
	f, err := os.Open(l.path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := b.Reader(f, info.Size())
	if err != nil {
		l.t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		l.t.Fatal(err)
	}
	return data
}

// check requires head, the line that states the cut, and an end of whole lines.
func (l *appended) check(b Bound, kept []byte) {
	if bytes.Equal(kept, l.all) {
		if int64(len(kept)) > b.Most() {
			l.t.Fatalf("%d bytes are kept, want at most %d", len(kept), b.Most())
		}
		return
	}
	if len(kept) < int(b.Head) || !bytes.Equal(kept[:b.Head], l.all[:b.Head]) {
		l.t.Fatalf("the head is not kept")
	}
	line, tail, _ := bytes.Cut(kept[b.Head+1:], []byte("\n"))
	cut, ok := ParseCut(line)
	switch {
	case !ok || kept[b.Head] != '\n':
		l.t.Fatalf("want a line that gives the cut after the head, got %q", line)
	case int64(len(tail)) > b.Tail+b.Slack:
		l.t.Fatalf("%d bytes of the end are kept, want at most %d", len(tail), b.Tail+b.Slack)
	case cut.Bytes != int64(len(l.all)-len(tail))-b.Head:
		l.t.Fatalf("the line gives %d bytes, want %d", cut.Bytes, int64(len(l.all)-len(tail))-b.Head)
	case !bytes.HasSuffix(l.all, tail):
		l.t.Fatalf("the end is not kept")
	}
}

// Whatever is written, and whenever the log is trimmed and read, its head and end are kept and
// the cut is counted.
func TestTrim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		sub, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(t, sub)
		defer l.out.Close()
		b := Bound{
			Head: int64(rapid.IntRange(1, 3).Draw(r, "head")) * 4096, Tail: int64(rapid.IntRange(300, 9000).Draw(r, "tail")),
			Slack: int64(rapid.IntRange(0, 5000).Draw(r, "slack")),
		}
		for n := range rapid.IntRange(1, 20).Draw(r, "writes") {
			size := rapid.IntRange(1, 8000).Draw(r, "size")
			l.write([]byte(fmt.Sprintf("%d %s\n", n, strings.Repeat(rapid.SampledFrom([]string{"x", "line\n"}).Draw(r, "text"), size/5))))
			if rapid.Bool().Draw(r, "trim") {
				l.trim(b)
			}
			if rapid.Bool().Draw(r, "read") {
				l.check(b, l.kept(b))
			}
		}
		l.trim(b)
		l.check(b, l.kept(b))
	})
}

// A cut takes the space from the disk, while the writer keeps its file.
func TestTrimFreesTheDisk(t *testing.T) {
	t.Parallel()
	l := newLog(t, t.TempDir())
	defer l.out.Close()
	b := Bound{Head: 1 << 20, Tail: 2 << 20, Slack: 1 << 18}
	row := bytes.Repeat([]byte("0123456789abcde\n"), 1<<14) // 256 KiB
	for range 100 {
		l.write(row)
		l.trim(b)
	}
	l.check(b, l.kept(b))
	var stat syscall.Stat_t
	if err := syscall.Stat(l.path, &stat); err != nil {
		t.Fatal(err)
	}
	if on := stat.Blocks * 512; on > b.Most()+1<<20 {
		t.Errorf("%d bytes are on the disk of a log of %d, want at most %d and a little", on, len(l.all), b.Most())
	}
}

// Without holes a log is cut back to its head, time after time.
func TestCutBack(t *testing.T) {
	t.Parallel()
	l := newLog(t, t.TempDir())
	defer l.out.Close()
	b := Bound{Head: 4096, Tail: 1 << 20}
	l.write(bytes.Repeat([]byte("begin\n"), 1000))
	written := int64(len(l.all))
	for round := range int64(3) {
		f, err := os.OpenFile(l.path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Stat()
		cut, _, err := b.cutOf(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.cutBack(f, cut, info.Size())
		if want := written - b.Head; err != nil || got.Bytes != want {
			t.Errorf("round %d: %d bytes were cut (%v), want %d", round, got.Bytes, err, want)
		}
		f.Close()
		last := fmt.Sprintf("after cut %d\n", round)
		l.write([]byte(last))
		written += int64(len(last))
		kept := l.kept(b)
		if !bytes.HasPrefix(kept, l.all[:b.Head]) || !bytes.HasSuffix(kept, []byte(last)) || !bytes.Contains(kept, []byte(got.line())) {
			t.Errorf("round %d: head, cut and end must be kept, got the end %q", round, kept[b.Head:])
		}
	}
}

func TestParseCut(t *testing.T) {
	t.Parallel()
	c := Cut{Bytes: 7, Next: 9}
	if got, ok := ParseCut([]byte(strings.Trim(c.line(), "\n"))); !ok || got != c {
		t.Errorf("the line of %+v gives %+v, %v", c, got, ok)
	}
	for _, line := range []string{"", "[dbtester: ", "[dbtester: 9999999999999999999 bytes of this log were cut here; it continues at byte 1 of ", "x" + c.line()} {
		if _, ok := ParseCut([]byte(line)); ok {
			t.Errorf("%q gives no cut", line)
		}
	}
}

// A log may hold anything where the line of a cut would be.
func FuzzReader(f *testing.F) {
	f.Add([]byte(Cut{Bytes: 7, Next: 100}.line()))
	f.Add([]byte(Cut{Bytes: 1 << 60, Next: 20}.line()))
	f.Add([]byte("\n[dbtester: 5 bytes of this log were cut here; it continues at byte 17"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := Bound{Head: 16, Tail: 64, Slack: 8}
		file := append(bytes.Repeat([]byte("h"), 16), data...)
		r, err := b.Reader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		kept, err := io.ReadAll(r)
		if err != nil || len(kept) > int(b.Most())+maxCutLine {
			t.Errorf("%d bytes were read (%v), want at most %d", len(kept), err, b.Most()+maxCutLine)
		}
	})
}

// The keeper checks each second, and every 50 ms while a log grows fast. The last cut is made
// after its end.
func TestKeeper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, dir)
		defer l.out.Close()
		b := Bound{Head: 4096, Tail: 8192, Slack: 4096}
		var looks []time.Duration
		var reports []string
		began := time.Now()
		k := &Keeper{Bound: b, Names: []string{"absent.log", "db.log", "bad.log"},
			Open: func(name string) (*os.File, error) {
				switch name {
				case "absent.log":
					looks = append(looks, time.Since(began))
					return nil, fs.ErrNotExist
				case "bad.log":
					return nil, errors.New("no")
				}
				return os.OpenFile(l.path, os.O_RDWR, 0)
			},
			Report: func(name string, cut Cut, err error) { reports = append(reports, fmt.Sprint(name, cut.Bytes > 0, err)) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		l.write(bytes.Repeat([]byte("0123456\n"), 8192))
		time.Sleep(700 * time.Millisecond)
		l.write([]byte("the end\n"))
		cancel()
		<-done
		want := []time.Duration{time.Second, 2 * time.Second, 2050 * time.Millisecond, 2200 * time.Millisecond}
		if fmt.Sprint(looks) != fmt.Sprint(want) {
			t.Errorf("looks at %v, want %v", looks, want)
		}
		if got := fmt.Sprint(reports); got != "[bad.logfalse keep bad.log within 16384 bytes: no db.logtrue <nil>]" {
			t.Errorf("reports %s", got)
		}
		l.check(b, l.kept(b))
	})
}
