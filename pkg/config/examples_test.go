package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples loads every example of the repository: no errors, no warnings,
// the same again when shown.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			e, warnings, err := Read(file, testCatalog())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range warnings {
				t.Error(w)
			}
			if e.Classic != strings.HasPrefix(filepath.Base(file), "classic-") {
				t.Errorf("classic is %v", e.Classic)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(data), "# ") {
				t.Error("it does not begin by saying what it is for")
			}
			wantSameAgain(t, file, data)
		})
	}
}
