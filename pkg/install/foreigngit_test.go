package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Reading the commit and the changes of a foreign checkout runs nothing it names, and a checkout
// whose configuration names something is refused.
func TestForeignCheckout(t *testing.T) {
	t.Setenv("GOTOOLCHAIN", "local")
	in := testInstaller(t)
	for name, evil := range map[string]struct {
		configure [][]string
		attribute string // for every file
		refused   bool
	}{
		"a file system monitor": {[][]string{{"core.fsmonitor", "MARK"}}, "", true},
		"hooks elsewhere":       {[][]string{{"core.hooksPath", "evilhooks"}}, "", true},
		"a clean filter":        {[][]string{{"filter.evil.clean", "MARK"}}, "filter=evil", true},
		"a process filter":      {[][]string{{"filter.evil.process", "MARK"}}, "filter=evil", true},
		"a text conversion":     {[][]string{{"diff.evil.textconv", "MARK"}}, "diff=evil", true},
		"an external diff":      {[][]string{{"diff.external", "MARK"}}, "", true},
		"an included file":      {[][]string{{"include.path", "/dev/null"}}, "", true},
		"a pager":               {[][]string{{"core.pager", "MARK"}}, "", true},
		"a merge driver":        {[][]string{{"merge.evil.driver", "MARK"}}, "merge=evil", true},
		"an extension of lfs":   {[][]string{{"lfs.extension.evil.clean", "MARK"}}, "filter=lfs", true},
		"a worktree's own":      {[][]string{{"extensions.worktreeConfig", "true"}}, "", true},
		"a remote's program":    {[][]string{{"remote.origin.uploadpack", "MARK"}}, "", true},
		"hooks in place":        {nil, "", false},
		"a usual clone":         {[][]string{{"remote.origin.url", "https://example.com/x"}, {"branch.main.remote", "origin"}, {"user.name", "A"}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := madeCheckout(t)
			mark := filepath.Join(t.TempDir(), "ran")
			program := filepath.Join(t.TempDir(), "evil")
			if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, hook := range []string{"post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"} {
				text, err := os.ReadFile(program)
				if err == nil {
					err = os.WriteFile(filepath.Join(c.Dir, ".git", "hooks", hook), text, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if evil.attribute != "" {
				change(t, c, ".gitattributes", "* "+evil.attribute+"\n")
			}
			change(t, c, "server/main.go", "package main\n\nvar commit string\n\nfunc main() { println(commit, 1) }\n")
			for _, pair := range evil.configure {
				value := strings.ReplaceAll(pair[1], "MARK", program)
				if out, err := exec.Command("git", "config", "--file", filepath.Join(c.Dir, ".git", "config"), pair[0], value).CombinedOutput(); err != nil {
					t.Fatalf("configure: %v\n%s", err, out)
				}
			}
			_, err := in.CheckoutVersion(t.Context(), c)
			if (err != nil) != evil.refused || err != nil && !strings.Contains(err.Error(), "may run programs") {
				t.Errorf("refused must be %v: %v", evil.refused, err)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a program of the checkout was run")
			}
		})
	}
}
