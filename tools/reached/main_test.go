package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout makes a repository with a commit: top imports middle, middle imports low, and tests in
// aside import low.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module example.org/m\n\ngo 1.26\n",
		"low/low.go":            "package low\n",
		"low/testdata/deep/x":   "",
		"middle/middle.go":      "package middle\n\nimport _ \"example.org/m/low\"\n",
		"middle/middle_test.go": "package middle\n",
		"top/top.go":            "package top\n\nimport _ \"example.org/m/middle\"\n",
		"aside/aside.go":        "package aside\n",
		"aside/aside_test.go":   "package aside_test\n\nimport _ \"example.org/m/low\"\n",
		"docs/page.md":          "",
	} {
		write(t, dir, name, text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatalf("write a file: %v", err)
	}
}

func TestReached(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"nothing":                 {},
		"documentation":           {"docs/page.md", "a word", ""},
		"a package at the top":    {"top/top.go", "package top\n\nimport _ \"example.org/m/middle\" // changed\n", "top"},
		"a package below":         {"low/low.go", "package low // changed\n", "aside low middle top"},
		"a test":                  {"middle/middle_test.go", "package middle // changed\n", "middle"},
		"a file of test data":     {"low/testdata/deep/x", "changed", "aside low middle top"},
		"a new file":              {"middle/new.go", "package middle\n", "middle top"},
		"the requirements of all": {"go.mod", "module example.org/m\n\ngo 1.26.0\n", "aside low middle top"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			if c.file != "" {
				write(t, dir, c.file, c.text)
			}
			var out strings.Builder
			if err := run(&out, dir, "HEAD", "go"); err != nil {
				t.Fatalf("run: %v", err)
			}
			if got := strings.ReplaceAll(strings.Join(strings.Fields(out.String()), " "), "example.org/m/", ""); got != c.want {
				t.Errorf("%q is reached, want %q", got, c.want)
			}
		})
	}
	if err := run(&strings.Builder{}, checkout(t), "nowhere", "go"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a revision that is not there: %v", err)
	}
}
