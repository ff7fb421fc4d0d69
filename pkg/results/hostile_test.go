package results

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Readers refuse files that are not regular, and lines and tables without an end, before
// they cost memory or wait.
func TestReadersRefuse(t *testing.T) {
	dir := t.TempDir()
	fifo, endless := filepath.Join(dir, "fifo"), filepath.Join(dir, "endless")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatalf("make a named pipe: %v", err)
	}
	if err := os.WriteFile(endless, nil, 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if err := os.Truncate(endless, 1<<40); err != nil { // a hole: it takes no disk
		t.Fatalf("truncate the file: %v", err)
	}
	for name, read := range map[string]func(path string) error{
		"intervals": func(path string) error { _, err := ReadIntervals(path); return err },
		"samples":   func(path string) error { _, err := ReadSamples(path); return err },
		"events":    func(path string) error { _, err := ReadEvents(path, 3); return err },
		"errors":    func(path string) error { _, err := ReadErrors(path); return err },
		"totals":    func(path string) error { _, err := ReadTotals(path); return err },
	} {
		for path, want := range map[string]string{fifo: "a FIFO", "/dev/zero": "a device", endless: "must be at most"} {
			if err := read(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want an error with %q", name, filepath.Base(path), err, want)
			}
		}
	}
}
