package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples checks every example.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	checkFiles(t, files)
}

// checkFiles runs config check over files, which all must be good.
func checkFiles(t *testing.T, files []string) {
	t.Helper()
	args := []string{"config", "check"}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	c := newPlace(t).start(args...)
	c.exits(exitDone, patience)
	if good := strings.Count(c.out.String(), ".yaml: ok, "); good != len(files) {
		t.Errorf("%d of %d files are good:\n%s", good, len(files), c.out)
	}
}
