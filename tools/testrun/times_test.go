package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, now, broken := filepath.Join(dir, "before"), filepath.Join(dir, "now"), filepath.Join(dir, "broken")
	for name, text := range map[string]string{
		before: "10.0\tslow\n1.0\tshort\n20.0\tsame\n3.0\tgone\n",
		now:    "9.0\tslow\n9.0\tslow\n4.0\tshort\n21.0\tsame\n99.0\tnew\n",
		broken: "10.0\tslow\nten seconds\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatalf("write times: %v", err)
		}
	}
	var out strings.Builder
	if err := compareFiles(&out, before, now); err != nil {
		t.Fatalf("compare: %v", err)
	}
	if want := "slower: slow 18.0 s (before 10.0 s)\ntests of packages: 43 s in all (before 31 s)\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if err := compareFiles(&out, broken, now); err == nil || !strings.Contains(err.Error(), "broken:2: ") {
		t.Errorf("a line without a package: %v", err)
	}
	if err := compareFiles(&out, before, filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there is compared")
	}
}
