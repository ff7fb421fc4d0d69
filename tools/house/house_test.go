package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCounts measures a tree with two files that use each other and one that uses both.
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
	report(&out, tree, "m", 5)
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

// TestModule measures a module with two packages: one has the contract, the other one uses it.
func TestModule(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                 "module example.org/m\n\ngo 1.26\n",
		"control/control.go":     "package control\n\nimport \"example.org/m/pkg/database\"\n\ntype Options struct{ A, B int }\n\nfunc Run() { database.Open(); steps(); database.Close() }\n\nfunc steps() {}\n",
		"analyze/analyze.go":     "package analyze\n\nfunc Run() {} // profiles\n",
		"pkg/database/open.go":   "package database\n\nimport \"example.org/m/pkg/wire/deep\"\n\nfunc Open() { deep.Write() }\n\nfunc Close() {}\n",
		"pkg/wire/deep/write.go": "package deep\n\nfunc Write() {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatalf("make a folder for the test: %v", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	var out strings.Builder
	if err := measure(&out, dir, 5, 0, 1); err != nil {
		t.Fatalf("measure: %v", err)
	}
	for _, want := range []string{
		"| packages | 4 |",
		"| folders directly in pkg | 2 |",
		"| exported names of `pkg/database` | 2 |",
		"| packages that `pkg/database` needs, itself included | 2 |",
		"| longest chain of imports | 3: control → pkg/database → pkg/wire/deep |",
		"| fields of `control.Options` | 2 |",
		"| profiles | `profile` | 1 | 1 |",
		// Run, Open, Write, steps, Close: back to control, and back to the contract.
		"| `control.Run` | 5 | 3 | 4 | 2 |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report must contain %q, got:\n%s", want, out.String())
		}
	}
}
