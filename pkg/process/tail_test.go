package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The cause of a panic is in its first lines; stack frames fill the end of the log.
func TestTailOfPanic(t *testing.T) {
	var log strings.Builder
	log.WriteString(strings.Repeat("ready\n", 100))
	log.WriteString("{\"level\":\"fatal\",\"error\":\"no space left on device\"}\npanic: failed to commit: no space left on device\n\ngoroutine 7 [running]:\n")
	log.WriteString(strings.Repeat("main.frame(...)\n\t/src/main.go:1\n", 100))
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Tail(path, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"panic: failed to commit: no space left on device", `"level":"fatal"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the tail lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "main.frame") || strings.Contains(got, "goroutine") {
		t.Errorf("the tail has stack frames:\n%s", got)
	}
	if n := strings.Count(got, "\n") + 1; n > 20 {
		t.Errorf("%d lines, want at most 20", n)
	}
}
