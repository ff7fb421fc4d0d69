package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database/all"
)

// TestExamples checks every example with the databases that this program has.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if good := checkFiles(t, files); good < 8 {
		t.Errorf("%d examples are good", good)
	}
}

// checkFiles runs config check over files and counts those that are good. The
// one problem that a file may have is a database that has no driver yet.
func checkFiles(t *testing.T, files []string) (good int) {
	t.Helper()
	p := newPlace(t)
	unknown := regexp.MustCompile(`unknown database "([a-z]+)"`)
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		c := p.start("config", "check", path)
		<-c.ended
		if c.cmd.ProcessState.ExitCode() == exitDone {
			good++
			wantText(t, "output", c.out.String(), regexp.QuoteMeta(path)+`: ok, [1-9] databases?\n`)
			continue
		}
		for line := range strings.Lines(c.err.String()) {
			if strings.Contains(line, ": warning: ") {
				continue
			}
			match := unknown.FindStringSubmatch(line)
			if match == nil {
				t.Errorf("%s", line)
				continue
			}
			if _, err := all.Registry().Get(match[1]); err == nil {
				t.Errorf("%s is known: %s", match[1], line)
			}
		}
	}
	return good
}
