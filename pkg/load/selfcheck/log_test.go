package selfcheck

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLogIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), logFile)
	want := []entry{{2, 30, 35}, {0, 10, 1 << 60}, {1, 20, 20}}
	if err := writeLog(path, want); err != nil {
		t.Fatalf("write the log: %v", err)
	}
	got, err := readLog(path)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("entries %v, error %v, want %v as written", got, err, want)
	}
	if err := inOrder(got); err != nil {
		t.Errorf("a log of requests 0 to 2 is refused: %v", err)
	}
	if !slices.IsSortedFunc(got, func(a, b entry) int { return cmp.Compare(a.number, b.number) }) {
		t.Errorf("%v is not in order", got)
	}
}

func TestBadLogs(t *testing.T) {
	for name, entries := range map[string][]entry{
		"a hole":       {{0, 1, 2}, {2, 1, 2}},
		"twice":        {{0, 1, 2}, {0, 1, 2}},
		"not from 0":   {{1, 1, 2}},
		"negative one": {{-1, 1, 2}, {0, 1, 2}},
	} {
		if inOrder(entries) == nil {
			t.Errorf("%s is accepted, want an error: every request is logged once", name)
		}
	}
	path := filepath.Join(t.TempDir(), logFile)
	if err := os.WriteFile(path, []byte(logHeader+"1,2\n"), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if _, err := readLog(path); err == nil {
		t.Error("a line of two numbers is accepted, want an error")
	}
}
