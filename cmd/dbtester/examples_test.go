package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestExamples checks every example.
func TestExamples(t *testing.T) {
	slowtest.Skip(t)
	if !apart(t) {
		return
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	checkFiles(t, files)
	planFiles(t, files)
}

// TestSmallExamples runs the examples that are made small, with a tenth of their requests, on the
// embedded etcd.
func TestSmallExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("runs six loads")
	}
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*-local.yaml"))
	if err != nil {
		t.Fatalf("list the examples: %v", err)
	}
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read the example: %v", err)
		}
		if !strings.Contains(string(text), "made small") {
			continue
		}
		ran++
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			hosts := "hosts: [" + strings.Join(freeHosts(t), ", ") + "]"
			small := regexp.MustCompile(`(?m)^hosts: .*$`).ReplaceAllString(string(text), hosts)
			small = regexp.MustCompile(`requests: (\d+)0\b`).ReplaceAllString(small, "requests: $1")
			small = strings.Replace(small, "\n  etcd:\n", "\n  etcd:\n    options: {"+steady+"}\n", 1)
			path := p.path("experiment.yaml")
			if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
				t.Fatalf("write the example: %v", err)
			}
			p.start("control", "--local", "--config", path, "--database-id", "etcd").exits(exitDone, 5*time.Minute)
			m := manifest(t, p.runs()[0])
			if len(m.Databases) != 1 || m.Databases[0].Totals == nil || m.Databases[0].Totals.OK != m.Databases[0].Totals.Offered || m.Databases[0].Totals.OK < 200 {
				t.Errorf("recorded %+v, want that every request of one database ended ok", m.Databases)
			}
		})
	}
	if ran < 6 {
		t.Errorf("%d small examples, want the twins of the classic ones", ran)
	}
}

// planFiles runs control --dry-run over files, which must all be planned completely.
func planFiles(t *testing.T, files []string) {
	t.Helper()
	paths := absolute(t, files)
	t.Chdir(t.TempDir())
	for i, path := range paths {
		file := files[i]
		code, out, errs := program(t, "control", "--dry-run", "--insecure", "--no-upload", "--config", path)
		if code != exitDone {
			t.Errorf("%s: exit code %d\n%s%s", file, code, out, errs)
			continue
		}
		e, _, err := config.Read(path, all.Registry().All())
		if err != nil {
			t.Fatalf("read the experiment: %v", err)
		}
		for _, db := range e.Databases {
			wantText(t, file, out, `(?m)^`+regexp.QuoteMeta(db.Tag)+` \(`+db.ID+`\)$`)
		}
		members := 0
		for _, db := range e.Databases {
			if db.Steps.Start {
				members += len(db.Hosts)
			}
		}
		if got := strings.Count(out, " by agent "); got != members {
			t.Errorf("%s: %d of %d members are planned:\n%s", file, got, members, out)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("plans left %v, %v", left, err)
	}
}

// checkFiles runs config check over files, which must all be good.
func checkFiles(t *testing.T, files []string) {
	t.Helper()
	code, out, errs := program(t, append([]string{"config", "check"}, absolute(t, files)...)...)
	if good := strings.Count(out, ".yaml: ok, "); code != exitDone || good != len(files) {
		t.Errorf("exit code %d, %d of %d files are good:\n%s%s", code, good, len(files), out, errs)
	}
}

// absolute returns the absolute paths of files.
func absolute(t *testing.T, files []string) []string {
	t.Helper()
	paths := make([]string, len(files))
	for i, file := range files {
		var err error
		if paths[i], err = filepath.Abs(file); err != nil {
			t.Fatalf("find the absolute path: %v", err)
		}
	}
	return paths
}
