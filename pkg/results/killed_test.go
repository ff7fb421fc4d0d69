package results

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// A kill at any moment leaves whole rows: at most the last line is cut, and the
// reader reports it.
func TestKilledWriterLeavesWholeRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileIntervals)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"=write-forever "+path)
	check(t, cmd.Start())
	waitForSize(t, path, 100_000)
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()

	rows, err := ReadIntervals(path)
	if err != nil && !errors.Is(err, ErrTruncated) {
		t.Fatalf("read the intervals: %v", err)
	}
	if len(rows) < 50 {
		t.Fatalf("%d rows of 100 kB", len(rows))
	}
	for n, got := range rows {
		diff(t, "row", testInterval(int64(n/2), n%2), got)
		if t.Failed() {
			break
		}
	}

	// A restarted writer continues where the whole rows end.
	w, err := NewIntervalWriter(path)
	check(t, err)
	check(t, w.Write([]Interval{testInterval(7, 0)}))
	check(t, w.Close())
	more, err := ReadIntervals(path)
	check(t, err)
	if len(more) != len(rows)+1 {
		t.Errorf("%d rows after one more, there were %d", len(more), len(rows))
	}
}

func waitForSize(t *testing.T, path string, size int64) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() >= size {
			return
		}
	}
	t.Fatal("the helper wrote nothing")
}

// A disk that fills up leaves whole rows, and the error names the file.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileIntervals)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"=small-disk "+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), path) || !strings.Contains(string(out), "file too large") {
		t.Errorf("the error does not say which file and why: %s", out)
	}
	rows, err := ReadIntervals(path)
	check(t, err)
	if len(rows) == 0 {
		t.Fatal("no rows were written before the disk was full")
	}
	for n, got := range rows {
		diff(t, "row", testInterval(int64(n), 0), got)
	}
}

func TestDevFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	for name, open := range map[string]func(string) error{
		"intervals": func(p string) error { _, err := NewIntervalWriter(p); return err },
		"errors":    func(p string) error { _, err := NewErrorWriter(p); return err },
		"latency":   func(p string) error { _, err := histogram.NewLogWriter(p, epoch); return err },
		"events": func(p string) error {
			w, err := NewEventWriter(p)
			check(t, err) // no header, so nothing is written yet
			defer w.Close()
			first := w.Write(Event{Time: epoch, Kind: "start"})
			if again := w.Write(Event{Time: epoch, Kind: "ready"}); again != first {
				t.Errorf("events: then %v, first %v", again, first)
			}
			return first
		},
	} {
		err := open("/dev/full")
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAppendToAnotherFile(t *testing.T) {
	path := mustWrite(t, filepath.Join(t.TempDir(), FileErrors), "a,b\n1,2\n")
	if _, err := NewErrorWriter(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("opened a file with another header: %v", err)
	}
	if got := mustRead(t, path); got != "a,b\n1,2\n" {
		t.Errorf("and changed it: %q", got)
	}
}
