package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// madeCheckout returns a git checkout with a program that prints its commit.
func madeCheckout(t *testing.T) recipe.Checkout {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "server"), 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	c := recipe.Checkout{Dir: dir, Module: "server", Package: ".", Tool: "tiny", CommitName: "main.commit"}
	change(t, c, "server/go.mod", "module example.com/tiny\n\ngo 1.21\n")
	change(t, c, "server/main.go", "package main\n\nvar commit string\n\nfunc main() { println(commit) }\n")
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "."},
		{"-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "first"},
	} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return c
}

func change(t *testing.T, c recipe.Checkout, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o644); err != nil {
		t.Fatalf("write a file of the checkout: %v", err)
	}
}

func version(t *testing.T, in *Installer, c recipe.Checkout) string {
	t.Helper()
	v, err := in.CheckoutVersion(t.Context(), c)
	if err != nil {
		t.Fatalf("find the version: %v", err)
	}
	return v
}

// TestCheckout: a build is named after its commit and its uncommitted changes, and is found in
// the cache the next time.
func TestCheckout(t *testing.T) {
	t.Setenv("GOTOOLCHAIN", "local")
	in := testInstaller(t)
	c := madeCheckout(t)
	first := version(t, in, c)
	commit, clean := strings.CutPrefix(first, "source-")
	if commit, _, _ = strings.Cut(commit, "-go1."); !clean || len(commit) != shownCommit || strings.Contains(first, "changed") {
		t.Errorf("version %q, want the commit and Go's version", first)
	}
	r, err := in.Get(t.Context(), "tiny", first, []recipe.Recipe{c})
	if err != nil {
		t.Fatalf("build the checkout: %v", err)
	}
	out, err := exec.Command(r.Files["tiny"]).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != commit {
		t.Errorf("the program prints %q (%v), want its commit %q", out, err, commit)
	}
	if r.Kind != "checkout" || !strings.Contains(r.Source, " at commit "+commit) || len(r.Notes) != 1 {
		t.Errorf("kind %q, source %q, notes %q; want the checkout at its commit", r.Kind, r.Source, r.Notes)
	}

	change(t, c, "server/more.go", "package main\n\nfunc init() { broken }\n")
	second := version(t, in, c)
	change(t, c, "server/more.go", "package main\n\nvar more = 1\n")
	third := version(t, in, c)
	change(t, c, "server/main.go", "package main\n\nfunc main() {}\n")
	if fourth := version(t, in, c); !strings.Contains(second, commit+"-changed-") || second == third || third == fourth {
		t.Errorf("versions %q, %q and %q of three changes, want three with the commit", second, third, fourth)
	}
}

// TestCheckoutChanges: a build whose sources change before it ends is not kept under their
// version.
func TestCheckoutChanges(t *testing.T) {
	c := madeCheckout(t)
	// The compiler in this test changes a file on request.
	tool := filepath.Join(t.TempDir(), "go")
	script := `#!/bin/sh
case "$*" in
*GOVERSION) echo go1.99.0; exit;;
esac
test ! -e '` + c.Dir + `/../during' || echo '// more' >>'` + c.Dir + `/server/main.go'
while test "$1" != -o; do shift; done
echo built >"$2"
`
	if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
		t.Fatalf("write the compiler: %v", err)
	}
	in := testInstaller(t)
	in.Lookup = func(name string) (string, error) {
		if name == "go" {
			return tool, nil
		}
		return exec.LookPath(name)
	}
	build := func(v, want string) {
		t.Helper()
		_, err := in.Get(t.Context(), "tiny", v, []recipe.Recipe{c})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("build of %s: want an error with %q, got %v", v, want, err)
		}
	}
	first := version(t, in, c)
	change(t, c, "server/more.go", "package main\n")
	build(first, "changed before its build had ended")
	second := version(t, in, c)
	change(t, c, "../during", "")
	build(second, "changed before its build had ended")
	if err := os.Remove(filepath.Join(c.Dir, "..", "during")); err != nil {
		t.Fatalf("remove the mark: %v", err)
	}
	build(version(t, in, c), "")
	for _, v := range []string{first, second} {
		if _, err := os.Stat(filepath.Join(in.Cache, "tiny", v)); !os.IsNotExist(err) {
			t.Errorf("a build of other sources is kept as %s: %v", v, err)
		}
	}
}

// TestCheckoutLinks: new links are hashed as links, even those to nowhere, with the content of the
// file they point to.
func TestCheckoutLinks(t *testing.T) {
	t.Setenv("GOTOOLCHAIN", "local")
	in := testInstaller(t)
	c := madeCheckout(t)
	outside := filepath.Join(t.TempDir(), "outside.go")
	link := filepath.Join(c.Dir, "server", "link.go")
	var versions []string
	for _, target := range []string{"/nowhere", "/nowhere-else", c.Dir, outside} {
		if err := os.RemoveAll(link); err != nil {
			t.Fatalf("remove the link: %v", err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatalf("make the link: %v", err)
		}
		versions = append(versions, version(t, in, c))
	}
	if err := os.WriteFile(outside, []byte("package main\n"), 0o644); err != nil {
		t.Fatalf("write the link's target: %v", err)
	}
	versions = append(versions, version(t, in, c))
	seen := map[string]bool{}
	for _, v := range versions {
		seen[v] = true
	}
	if len(seen) != len(versions) {
		t.Errorf("versions %q, want one for each link", versions)
	}
}

// TestCheckoutErrors: the output of git and Go is in the error.
func TestCheckoutErrors(t *testing.T) {
	t.Setenv("GOTOOLCHAIN", "local")
	in := testInstaller(t)
	c := madeCheckout(t)
	change(t, c, "server/main.go", "package main\n\nfunc main() { undefinedHere() }\n")
	if _, err := in.Get(t.Context(), "tiny", version(t, in, c), []recipe.Recipe{c}); err == nil || !strings.Contains(err.Error(), "undefinedHere") {
		t.Errorf("a checkout that does not compile: %v, want the compiler's error", err)
	}
	c.Module = "server/none"
	if _, err := in.CheckoutVersion(t.Context(), c); err == nil || !strings.Contains(err.Error(), "server/none") {
		t.Errorf("a checkout without the module: %v, want the missing folder", err)
	}
	c.Dir = t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(c.Dir))
	if _, err := in.CheckoutVersion(t.Context(), c); err == nil || !strings.Contains(err.Error(), "must be a git checkout") {
		t.Errorf("no checkout: %v, want that it must be one", err)
	}
}
