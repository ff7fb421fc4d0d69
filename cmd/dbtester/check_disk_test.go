package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/machine/diskcheck"
	"github.com/coreos/dbtester/pkg/machine/roundtrip"
	"github.com/coreos/dbtester/pkg/results"
)

// diskReport is a report on a disk with a p99.
func diskReport(filesystem string, p99 time.Duration) *diskcheck.Report {
	times := diskcheck.Times{N: 12, P50: p99, P99: p99, P999: p99, Longest: p99}
	r := diskcheck.Result{Appends: 12, Bytes: 60_000, Busy: time.Second, Sync: times, Both: times}
	return diskcheck.NewReport(diskcheck.NewPlace("/data", results.Disk{Filesystem: filesystem}), time.Second, r)
}

func TestCheckDiskCodes(t *testing.T) {
	t.Parallel()
	unreachable := roundtrip.Unreachable([]roundtrip.Times{{Address: "10.0.0.3:3500", Error: "no answer"}})
	for _, tc := range []struct {
		err  error
		code int
		text string
	}{
		{diskError(diskReport("ext4", time.Millisecond)), exitDone, ""},
		{diskError(diskReport("ext4", time.Second)), exitWorse, "the disk does not meet etcd's guidance: the p99 of fdatasync is 1.00 s (12 samples, too few for a p99)"},
		{diskError(diskReport("tmpfs", time.Millisecond)), exitFailed, "the disk could not be measured: no disk: tmpfs"},
		{errors.Join(diskError(diskReport("ext4", time.Millisecond)), unreachable), exitFailed, "10.0.0.3:3500 is unreachable: no answer"},
		{errors.Join(diskError(diskReport("ext4", time.Second)), unreachable), exitWorse, "10.0.0.3:3500 is unreachable: no answer"},
	} {
		var errw bytes.Buffer
		a := &app{streams: streams{err: &errw}}
		if code := a.exitCode(tc.err); code != tc.code || !strings.Contains(errw.String(), tc.text) {
			t.Errorf("exit code %d with %q, want %d with %q", code, errw.String(), tc.code, tc.text)
		}
	}
}

// Only an unwritable folder prevents an agent from starting.
func TestKeepsFromWriting(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]bool{syscall.EACCES: true, syscall.EPERM: true, syscall.EROFS: true, syscall.ENOSPC: false, syscall.EOPNOTSUPP: false} {
		if got := keepsFromWriting(fmt.Errorf("check the disk: %w", &os.PathError{Op: "open", Path: "/data", Err: errno})); got != want {
			t.Errorf("%v keeps the agent from writing: %v, want %v", errno, got, want)
		}
	}
}

// The JSON has the same numbers as the text, with their units in the names.
func TestCheckDiskJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{streams: streams{out: &out}}
	trips := []roundtrip.Times{{Address: "10.0.0.3:3500", N: 20, Min: 1, Median: 2, Max: 3}}
	if err := diskListing(diskReport("ext4", time.Millisecond), trips).print(a.out, format{word: formatJSON}); err != nil {
		t.Fatalf("print: %v", err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("parse the output: %v\n%s", err, out.String())
	}
	for key, want := range map[string]any{
		"directory": "/data", "filesystem": "ext4", "appends": 12., "bytes": 60000., "busy_ns": 1e9, "duration_ns": 1e9,
		"syncs_per_second": 12., "bytes_per_second": 60000., "verdict": "meets", "limit_p99_ns": 1e7, "source": diskcheck.Source,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	times, _ := got["fdatasync"].(map[string]any)
	for _, key := range []string{"p50_ns", "p99_ns", "p99_9_ns", "longest_ns"} {
		if times[key] != 1e6 {
			t.Errorf("%s is %v, want 1e6", key, times[key])
		}
	}
	if few, _ := got["few"].([]any); len(few) != 3 {
		t.Errorf("few for %v, want all three percentiles", got["few"])
	}
	if list, _ := got["round_trips"].([]any); len(list) != 1 || list[0].(map[string]any)["median_ns"] != 2. {
		t.Errorf("round trips %v, want one", got["round_trips"])
	}
}

// An interrupted check removes its file, and prints its measurements so far.
func TestCheckDiskInterrupted(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			checkInterrupted(t, format)
		})
	}
}

func checkInterrupted(t *testing.T, format string) {
	t.Helper()
	p := newPlace(t)
	disk := p.path("disk")
	if err := os.Mkdir(disk, 0o750); err != nil {
		t.Fatalf("make a folder for the test: %v", err)
	}
	c := p.start("check-disk", "--duration", "1h", "--format", format, disk)
	eventually(t, "the check has appended to its file", func() bool {
		found, err := filepath.Glob(filepath.Join(disk, ".dbtester-disk-check-*"))
		if err != nil || len(found) != 1 {
			return false
		}
		f, err := os.Open(found[0])
		if err != nil {
			return false
		}
		defer f.Close()
		// The space is allocated before it is written: zeros until the first append.
		first := make([]byte, 64)
		_, err = f.ReadAt(first, 0)
		return err == nil && !bytes.Equal(first, make([]byte, 64))
	})
	c.signal(syscall.SIGINT)
	c.exits(exitInterrupted, patience)
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	out := c.out.String()
	if format == "text" {
		if !regexp.MustCompile(`(?m)^interrupted after [1-9][0-9,]* appends, in `).MatchString(out) || !strings.Contains(out, "fdatasync  ") || !strings.Contains(out, "verdict: ") {
			t.Errorf("printed %q, want what was measured with the number of appends", out)
		}
		return
	}
	var got struct {
		Interrupted bool
		Appends     int64
		Fdatasync   diskcheck.Times
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || !got.Interrupted || got.Appends < 1 || got.Fdatasync.N != got.Appends {
		t.Errorf("printed %q (%v), want what was measured", out, err)
	}
}

// A second signal waits for nothing, and removes the file, too.
func TestTemporary(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	var l lastWords
	var out, errw bytes.Buffer
	l.temporary("/proc/self")
	l.print(&out, &errw)
	if !strings.HasPrefix(errw.String(), "dbtester: left behind: /proc/self: ") {
		t.Errorf("printed %q, want what could not be removed", errw.String())
	}
	l.temporary(file)
	l.print(&out, &errw)
	eventually(t, "the file is gone", func() bool {
		_, err := os.Stat(file)
		return errors.Is(err, os.ErrNotExist)
	})
	errw.Reset()
	l.temporary("")
	l.print(&out, &errw)
	if errw.Len() > 0 || out.Len() > 0 {
		t.Errorf("printed %q %q of no file", out.String(), errw.String())
	}
}
