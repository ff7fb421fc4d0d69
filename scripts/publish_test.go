package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// publisher stands for dbtester: it plans $trials trials of one database and $duration, and
// makes a run of the trial that it is asked for. It fails at the trial $failing.
const publisher = `#!/bin/bash
case $1 in
version) echo "dbtester abc" ;;
index) ;;
analyze)
	mkdir -p "$3/figures" "$3/data"
	touch "$3"/{README.md,report.html,figures/A.svg,figures/A.png,data/A.csv,data/etcd-all-aggregated.csv}
	;;
control)
	case "$*" in *--dry-run*)
		printf 'a title\nresults in results/, %d trials, seed 1\n\netcd (etcd)\n  expected duration: about %s\n' "$trials" "$duration"
		exit ;;
	esac
	while test "$1" != --results; do shift; done
	echo "trial $4" >>made
	run=$2/a-title/20260102T150405Z
	test "$trials" = 1 || run+=-trial-$4
	test ! -e "$run" || echo "$run was not removed"
	mkdir -p "$run/etcd"
	touch "$run/manifest.json" "$run/etcd/intervals.csv"
	test "$4" != "${failing:-}" || exit 1
	test "${invalid:-}" = "" || exit 3
	;;
esac
`

// publishing returns a checkout with one experiment and a git that reports commit.
func publishing(t *testing.T, commit string) (dir string, env []string) {
	t.Helper()
	dir = checkout(t)
	fake := t.TempDir()
	write(t, filepath.Join(dir, "bin", "dbtester"), publisher, 0o755)
	write(t, filepath.Join(dir, "test-results", "quickstart", "experiment.yaml"), "title: a title\n", 0o644)
	write(t, filepath.Join(fake, "git"), "#!/bin/sh\necho "+commit+"\n", 0o755)
	write(t, filepath.Join(fake, "sleep"), "#!/bin/sh\n", 0o755)
	return dir, []string{"PATH=" + fake + ":" + os.Getenv("PATH"), "trials=3", "duration=20s"}
}

// made returns the trials that were made, in their order.
func made(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "made"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", ")
}

// An interrupted set goes on with missing trials, and is published when all are there.
func TestPublishResumes(t *testing.T) {
	dir, env := publishing(t, "abc")
	published := filepath.Join(dir, "test-results", "quickstart", "records")
	code, out := script(t, dir, append(env, "failing=2"), "publish-results.sh", "quickstart")
	if code != 1 || made(t, dir) != "trial 1, trial 2" || !strings.Contains(out, "trial 2 of quickstart ends with exit code 1") {
		t.Fatalf("exit code %d, made %q\n%s", code, made(t, dir), out)
	}
	if _, err := os.Stat(published); err == nil {
		t.Error("a set that is not complete must not be published")
	}
	code, out = script(t, dir, append(env, "invalid=1"), "publish-results.sh", "quickstart")
	if code != 0 || made(t, dir) != "trial 1, trial 2, trial 2, trial 3" || strings.Contains(out, "was not removed") {
		t.Fatalf("exit code %d, made %q\n%s", code, made(t, dir), out)
	}
	for _, name := range []string{"1/manifest.json", "3/etcd.tar.gz", "../figures/A.svg", "../data/A.csv", "../report.html", "../experiment.yaml"} {
		if _, err := os.Stat(filepath.Join(published, name)); err != nil {
			t.Errorf("what is published must have it: %v", err)
		}
	}
	for _, name := range []string{"../figures/A.png", "../data/etcd-all-aggregated.csv", "4"} {
		if _, err := os.Stat(filepath.Join(published, name)); err == nil {
			t.Errorf("%s must not be published", name)
		}
	}
	// Nothing is missing, until the experiment is another one.
	if code, out := script(t, dir, env, "publish-results.sh", "quickstart"); code != 0 || strings.Count(made(t, dir), "trial") != 4 {
		t.Errorf("exit code %d, made %q\n%s", code, made(t, dir), out)
	}
	write(t, filepath.Join(dir, "test-results", "quickstart", "experiment.yaml"), "title: another\n", 0o644)
	if code, out := script(t, dir, env, "publish-results.sh", "quickstart"); code != 0 || strings.Count(made(t, dir), "trial") != 7 {
		t.Errorf("exit code %d, made %q\n%s", code, made(t, dir), out)
	}
}

// What cannot end in time, or comes from more than one commit, is refused before anything runs.
func TestPublishRefuses(t *testing.T) {
	for _, test := range []struct {
		commit, env string
		args        []string
		want        string
	}{
		{"abc", "duration=1m", []string{"quickstart"}, "quickstart would take about 4 minutes, and its budget is 3: raise it, or ask for fewer trials"},
		{"abc", "duration=1h0m2s", []string{"quickstart"}, "quickstart would take about 181 minutes"},
		{"abc", "", []string{"other"}, "other has no budget"},
		{"abc-dirty", "", []string{"quickstart"}, "the tree has changes that are not committed"},
		{"def", "", []string{"quickstart"}, "bin/dbtester is abc and the tree is def: run make build"},
		{"abc", "", []string{"--publish", "quickstart"}, "not complete, and not published: quickstart"},
		{"abc", "", []string{"--all"}, "unknown flag --all"},
	} {
		dir, env := publishing(t, test.commit)
		write(t, filepath.Join(dir, "test-results", "other", "experiment.yaml"), "title: other\n", 0o644)
		code, out := script(t, dir, append(env, test.env), "publish-results.sh", test.args...)
		if code != 1 || !strings.Contains(out, test.want) || made(t, dir) != "" {
			t.Errorf("%q of %s, %s: exit code %d, made %q, want %q:\n%s", test.args, test.commit, test.env, code, made(t, dir), test.want, out)
		}
	}
	dir, env := publishing(t, "abc-dirty")
	if code, out := script(t, dir, append(env, "trials=1"), "publish-results.sh", "--dirty", "quickstart"); code != 0 || made(t, dir) != "trial 1" {
		t.Errorf("--dirty: exit code %d, made %q\n%s", code, made(t, dir), out)
	}
}

// A second script that makes trials is refused: trials that look interrupted to it go on. One that
// only publishes is not.
func TestPublishOneAtATime(t *testing.T) {
	dir, env := publishing(t, "abc")
	kept := filepath.Join(dir, "results", "published")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	first, err := os.Create(filepath.Join(kept, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := unix.Flock(int(first.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	code, out := script(t, dir, env, "publish-results.sh", "quickstart")
	if code != 1 || !strings.Contains(out, "another publish-results.sh runs trials here") || made(t, dir) != "" {
		t.Errorf("exit code %d, made %q\n%s", code, made(t, dir), out)
	}
	if code, out := script(t, dir, env, "publish-results.sh", "--publish", "quickstart"); code != 1 || !strings.Contains(out, "not complete, and not published: quickstart") {
		t.Errorf("--publish: exit code %d\n%s", code, out)
	}
	if err := unix.Flock(int(first.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if code, out := script(t, dir, env, "publish-results.sh", "quickstart"); code != 0 || strings.Count(made(t, dir), "trial") != 3 {
		t.Errorf("once the first has ended: exit code %d, made %q\n%s", code, made(t, dir), out)
	}
}

// A set that takes longer than its budget is stopped and not published; the others go on.
func TestPublishOverruns(t *testing.T) {
	dir, env := publishing(t, "abc")
	write(t, filepath.Join(dir, "test-results", "quota", "experiment.yaml"), "title: quota\n", 0o644)
	fake := t.TempDir()
	write(t, filepath.Join(fake, "timeout"), "#!/bin/sh\nshift 6\ncase \"$*\" in *quickstart*) exit 124 ;; esac\nexec \"$@\"\n", 0o755)
	env[0] = strings.Replace(env[0], "PATH=", "PATH="+fake+":", 1)
	code, out := script(t, dir, env, "publish-results.sh")
	if code != 1 || !strings.Contains(out, "quickstart is stopped at its budget of 3 minutes") || !strings.Contains(out, "not complete, and not published: quickstart\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "test-results", "quota", "records", "3", "manifest.json")); err != nil {
		t.Errorf("the other set must be published: %v", err)
	}
}

// The budgets for all published sets are in the script, which is ten hours or so together.
func TestBudgets(t *testing.T) {
	text := read(t, "publish-results.sh")
	experiments, err := filepath.Glob(filepath.Join("..", "test-results", "*", "experiment.yaml"))
	if err != nil || len(experiments) == 0 {
		t.Fatalf("find the experiments: %v", err)
	}
	for _, path := range experiments {
		if name := filepath.Base(filepath.Dir(path)); !strings.Contains(text, "\n\t\t"+name+" ") {
			t.Errorf("%s must have a budget in publish-results.sh", name)
		}
	}
}
