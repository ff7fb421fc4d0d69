package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Scripts that measure and publish end with a reason where they cannot go on.
func TestReasons(t *testing.T) {
	dir := checkout(t)
	write(t, filepath.Join(dir, "test-results", "versions", "a.yaml"), "", 0o644)
	tools := t.TempDir() // with dirname and without curl
	dirname, err := exec.LookPath("dirname")
	if err != nil {
		t.Fatalf("find dirname: %v", err)
	}
	if err := os.Symlink(dirname, filepath.Join(tools, "dirname")); err != nil {
		t.Fatalf("make a link: %v", err)
	}
	for _, tt := range []struct {
		env  []string
		name string
		args []string
		code int
		want string
	}{
		{[]string{"NULLS=101"}, "verdicts-real.sh", []string{"out"}, 2, "NULLS must be at most 100"},
		{[]string{"SETS=251"}, "screens-real.sh", []string{"out"}, 2, "SETS must be at most 250"},
		{[]string{"PATH=" + tools}, "vulnerabilities.sh", nil, 1, "vulnerabilities: curl is needed"},
		{nil, "publish-results.sh", []string{"--reports", "versions"}, 0, "versions is a comparison, of which no records are kept"},
	} {
		code, out := script(t, dir, tt.env, tt.name, tt.args...)
		if code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("%s %q: exit code %d, want %d and %q:\n%s", tt.name, tt.args, code, tt.code, tt.want, out)
		}
	}
}

// If an agent ends instead of listening, the script ends with its log, even if another process
// listens at its port, and nothing is measured.
func TestPublishWithoutAgent(t *testing.T) {
	dir, fake := checkout(t), t.TempDir()
	write(t, filepath.Join(fake, "taskset"), "#!/bin/sh\nshift 2\nexec \"$@\"\n", 0o755)
	write(t, filepath.Join(dir, "bin", "dbtester"), `#!/bin/sh
case "$*" in
version) echo dbtester abc ;;
*--dry-run*) printf 'results in results/, 1 trial, seed 1\n  expected duration: 1s\n' ;;
agent*) echo the port is taken && exit 1 ;;
*) touch measured ;;
esac
`, 0o755)
	write(t, filepath.Join(dir, "test-results", "quota", "members-on-one-processor"), "", 0o644)
	write(t, filepath.Join(dir, "test-results", "quota", "experiment.yaml"), "", 0o644)
	temporary := filepath.Join(dir, "temporary")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	code, out := script(t, dir, []string{"TMPDIR=" + temporary, "PATH=" + fake + ":" + os.Getenv("PATH")}, "publish-results.sh", "--dirty", "quota")
	if code != 1 || !strings.Contains(out, "the port is taken\npublish-results: the agent does not listen\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "measured")); err == nil {
		t.Error("control was called")
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left of it (%v)", left, err)
	}
}
