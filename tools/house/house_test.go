package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCounts measures a tree of two files that use each other and one that uses both.
func TestCounts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package p\n\n// T is a T of a kind.\ntype T struct{ x, y int }\n\nfunc (t *T) A() { t.B() }\n",
		"b.go": "package p\n\nfunc (t *T) B() {}\n",
		"c.go": "package p\n\n// C says what a caller needs.\nfunc C(t *T) { t.A(); t.B() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	tree, err := readTree(dir)
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	var out strings.Builder
	report(&out, tree, 5)
	for _, want := range []string{
		"| `..T` | 2 | 2 | 2 |",                        // methods, files, lines
		"| `..T` | 2 |",                                // fields
		"| `.` | 3 | 13 | 3 | 4 | 1 (25 %) | 2 (50 %)", // a uses b, b uses a, c uses both
		"| what | 769.2 | 1 |",
		"1 doc comments define a name by itself",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report must contain %q, got:\n%s", want, out.String())
		}
	}
}
