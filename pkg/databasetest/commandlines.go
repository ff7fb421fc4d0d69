package databasetest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// CommandLines returns the command lines of all processes on this machine, by pid. Each argument
// ends in a zero byte. Zombies have no command line.
func CommandLines(t testing.TB) map[int][]byte {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatalf("list the processes: %v", err)
	}
	lines := map[int][]byte{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")); err == nil && len(line) > 0 { // it may have ended
			lines[pid] = line
		}
	}
	return lines
}
