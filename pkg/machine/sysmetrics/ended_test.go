package sysmetrics

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/metric"
)

// Some kernels show an ended process's io file only to root. Its last reading stays, and for a
// running process it is an error.
func TestEndedProcessOfAnotherUser(t *testing.T) {
	f := newFixture(t)
	running := fake{pid: 10, ppid: 1, start: 5, own: 100, read: 10, write: 20}
	f.put(running)
	s := f.sampler(Options{PIDs: pids(10), Device: "sda"})
	sample := func(p fake) (got float64, err error) {
		f.put(p)
		hidden := filepath.Join(f.root, "10", "io")
		if err := os.Chmod(hidden, 0); err != nil {
			t.Fatalf("hide the file: %v", err)
		}
		unprivileged(t, func() {
			sample, e := s.Sample()
			got, err = sample.Get(metric.WriteBytes), e
		})
		return got, err
	}
	if _, err := s.Sample(); err != nil {
		t.Fatalf("sample: %v", err)
	}
	ended := running
	ended.state = "Z (zombie)"
	if got, err := sample(ended); err != nil || got != 20 {
		t.Errorf("of an ended process %g bytes are known, error %v, want the 20 that were read before", got, err)
	}
	if got, err := sample(running); err == nil || got != metric.Unknown {
		t.Errorf("of a running process %g bytes are known, error %v, want an error", got, err)
	}
}

// unprivileged runs f without root's right to read every file.
func unprivileged(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends with the goroutine
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		err := unix.Capset(&header, &none[0])
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("drop the rights: %v", err)
	}
}
