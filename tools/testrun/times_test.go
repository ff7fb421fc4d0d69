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
	in := func(name string) string { return filepath.Join(dir, name) }
	before, now, later, last, broken := in("before"), in("now"), in("later"), in("last"), in("broken")
	for name, text := range map[string]string{
		before: "10.0\tslow\n1.0\tshort\n20.0\tsame\n3.0\tgone\n",
		now:    "9.0\tslow\n9.0\tslow\n4.0\tshort\n21.0\tsame\n99.0\tnew\n",
		later:  "9.0\tslow\t30.0\n21.0\tsame\t6.0\n0.0\tcmd/go\t50.0\n",
		last:   "9.0\tslow\t31.0\n21.0\tsame\t16.0\n0.0\tcmd/go\t50.5\n",
		broken: "10.0\tslow\nten seconds\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatalf("write times: %v", err)
		}
	}
	var out strings.Builder
	for _, c := range []struct{ before, now, want string }{
		{before, now, "slower: slow 18.0 s (before 10.0 s)\ntests of packages: 43 s in all (before 31 s)\n"},
		{now, later, "tests of packages: 30 s in all (before 39 s)\n"}, // the earlier has no CPU times
		{later, last, "tests of packages: 30 s in all (before 30 s)\nmore CPU time: same 16.0 s (before 6.0 s)\nCPU time of tests and their builds: 98 s in all (before 86 s)\n"},
	} {
		out.Reset()
		if err := compareFiles(&out, c.before, c.now); err != nil {
			t.Fatalf("compare: %v", err)
		}
		if out.String() != c.want {
			t.Errorf("got\n%swant\n%s", out.String(), c.want)
		}
	}
	if err := compareFiles(&out, broken, now); err == nil || !strings.Contains(err.Error(), "broken:2: ") {
		t.Errorf("a line without a package: %v", err)
	}
	if err := compareFiles(&out, before, filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there is compared")
	}
}
