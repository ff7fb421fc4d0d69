package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// apartEnv is set in the process that [apart] starts.
const apartEnv = "DBTESTER_TEST_APART"

// apart runs a test that changes the working directory or the environment in its own process, while
// other tests run. It returns false in their process, in which the test has nothing more to do.
func apart(t *testing.T) (inside bool) {
	t.Helper()
	if os.Getenv(apartEnv) != "" {
		return true
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("find this program: %v", err)
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), apartEnv+"=1")
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err != nil:
		t.Errorf("in a process of its own: %v\n%s", err, text)
	case strings.Contains(text, "\n--- SKIP: "+t.Name()+" "):
		t.Skip(text)
	default:
		t.Log(text)
	}
	return false
}
