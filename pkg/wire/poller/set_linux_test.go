package poller

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A process without file descriptors for a set loses no descriptor to it, and gets a set once it
// has some.
func TestSetWithoutDescriptors(t *testing.T) {
	pair(t) // so that Go's own poller has its descriptors
	var usual unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	var common lazySet
	open := func(most uint64) error {
		defer func() {
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &usual); err != nil {
				t.Fatal(err)
			}
		}()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: usual.Max}); err != nil {
			t.Fatal(err)
		}
		_, err := common.get()
		return err
	}
	before := descriptors(t)
	var failures int
	for most := uint64(0); ; most++ {
		err := open(most)
		if err == nil {
			break
		}
		if failures++; !errors.Is(err, unix.EMFILE) {
			t.Fatalf("with %d descriptors got error %v, want EMFILE", most, err)
		}
		if after := descriptors(t); after > before {
			t.Fatalf("a set that could not be opened with %d descriptors has left %d", most, after-before)
		}
	}
	if failures < 4 {
		t.Errorf("%d sets could not be opened, want one without each of its descriptors at least", failures)
	}
}

// descriptors returns the number of open files in this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
