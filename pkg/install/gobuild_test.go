package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// tinyProxy lays out a module proxy with one module in a directory, so that builds need no network,
// and returns the environment that makes go use it.
func tinyProxy(t *testing.T, mainText string) []string {
	t.Helper()
	proxy, cache := t.TempDir(), t.TempDir()
	at := filepath.Join(proxy, "example.com", "tiny", "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatalf("make the folders: %v", err)
	}
	mod := read(t, "testdata/tiny/go.mod.txt")
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	put("list", "v1.2.3\n")
	put("v1.2.3.info", `{"Version":"v1.2.3","Time":"2020-01-01T00:00:00Z"}`)
	put("v1.2.3.mod", mod)
	put("v1.2.3.zip", string(zipped(t,
		item{name: "example.com/tiny@v1.2.3/go.mod", content: mod, mode: 0o644},
		item{name: "example.com/tiny@v1.2.3/main.go", content: mainText, mode: 0o644},
	)))
	return []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy), "GOMODCACHE=" + cache, "GOFLAGS=-modcacherw",
		"GONOSUMDB=*", "GONOPROXY=none", "GOTOOLCHAIN=local",
	}
}

func tinyRecipe(t *testing.T, env []string) recipe.GoBuild {
	t.Helper()
	return recipe.GoBuild{
		GoMod:    read(t, "testdata/recipe/go.mod.txt"),
		GoSum:    read(t, "testdata/recipe/go.sum.txt"),
		Packages: map[string]string{"tiny": "example.com/tiny"},
		Module:   "example.com/tiny",
		Env:      env,
	}
}

func TestGoBuild(t *testing.T) {
	in := testInstaller(t)
	way := tinyRecipe(t, tinyProxy(t, read(t, "testdata/tiny/main.go.txt")))
	r, err := in.Get(t.Context(), "tiny", "v1.2.3", []recipe.Recipe{way})
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	out, err := exec.Command(r.Files["tiny"]).CombinedOutput()
	if err != nil || string(out) != "tiny\n" {
		t.Errorf("the built tool says %q, %v", out, err)
	}
	if r.Kind != "go build" || r.Source != "example.com/tiny@v1.2.3" {
		t.Errorf("kind %q, source %q", r.Kind, r.Source)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "built from source with go1.") {
		t.Errorf("notes %q", r.Notes)
	}
	if got := read(t, filepath.Join(r.Dir, "go.sum.txt")); got != way.GoSum {
		t.Errorf("the kept go.sum is %q", got)
	}

	// The build is reproducible: elsewhere it gives the same bytes.
	other := testInstaller(t)
	again, err := other.Get(t.Context(), "tiny", "1.2.3", []recipe.Recipe{way})
	if err != nil || again.SHA256["tiny"] != r.SHA256["tiny"] {
		t.Errorf("built again: %v, %v, want %v", again.SHA256, err, r.SHA256)
	}
}

func TestGoBuildFailures(t *testing.T) {
	text := read(t, "testdata/tiny/main.go.txt")
	tests := map[string]struct {
		text, version string
		change        func(*recipe.GoBuild)
		want          []string
	}{
		"other content than go.sum says": {text: text + "\n// changed\n", want: []string{"go build", "exit 1", "checksum mismatch", "SECURITY ERROR"}},
		"not in go.sum":                  {change: func(g *recipe.GoBuild) { g.GoSum = "" }, want: []string{"missing go.sum entry"}},
		"no such package":                {change: func(g *recipe.GoBuild) { g.Packages["tiny"] = "example.com/tiny/none" }, want: []string{"example.com/tiny/none"}},
		"a bad go.mod":                   {change: func(g *recipe.GoBuild) { g.GoMod = "modul release" }, want: []string{"go.mod:1"}},
		"for another version":            {version: "1.2.4", want: []string{"it is example.com/tiny@v1.2.3, not example.com/tiny@v1.2.4"}},
		"another module":                 {change: func(g *recipe.GoBuild) { g.Module = "example.com/other" }, want: []string{"not example.com/other@v1.2.3"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.text == "" {
				tt.text = text
			}
			if tt.version == "" {
				tt.version = "1.2.3"
			}
			way := tinyRecipe(t, tinyProxy(t, tt.text))
			if tt.change != nil {
				tt.change(&way)
			}
			in := testInstaller(t)
			_, err := in.Get(t.Context(), "tiny", tt.version, []recipe.Recipe{way})
			wantError(t, err, tt.want...)
			noLeftovers(t, in)
		})
	}
}

// fakeTools returns a lookup for shell scripts standing in for executables.
func fakeTools(t *testing.T, scripts map[string]string) func(string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	return func(name string) (string, error) { return exec.LookPath(filepath.Join(dir, name)) }
}

// A cancelled build ends with everything it started, and leaves nothing.
func TestCancelBuild(t *testing.T) {
	in := testInstaller(t)
	started := filepath.Join(t.TempDir(), "started")
	in.Lookup = fakeTools(t, map[string]string{
		"go": fmt.Sprintf("touch half; trap 'exit 1' INT; sleep 600 & touch %s; wait", started),
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	begin := time.Now()
	_, err := in.Get(ctx, "tiny", "1.2.3", []recipe.Recipe{tinyRecipe(t, nil)})
	wantError(t, err, "context canceled")
	if took := time.Since(begin); took > 5*time.Minute { // half as long as the build sleeps
		t.Errorf("a cancelled build took %v to end", took)
	}
	noLeftovers(t, in)
}

func TestMaven(t *testing.T) {
	// The fake finds -DoutputDirectory among its arguments and copies two jars.
	const copies = `for a; do case "$a" in -DoutputDirectory=*) out="${a#*=}";; esac; done
mkdir -p "$out"; printf one >"$out/db-1.2.jar"; printf two >"$out/dep-3.jar"
`
	good := string(sha256Line([]byte("one"), "db-1.2.jar")) + string(sha256Line([]byte("two"), "dep-3.jar"))
	tests := map[string]struct {
		mvn, sums, version string
		noJava             bool
		want               []string
	}{
		"good":            {mvn: copies, sums: good},
		"good, no sums":   {mvn: copies},
		"no java":         {mvn: copies, noJava: true, want: []string{"java is needed but was not found (install a Java runtime"}},
		"maven fails":     {mvn: "echo '[ERROR] Could not resolve dependencies'; exit 1", want: []string{"exit 1", "Could not resolve dependencies"}},
		"killed":          {mvn: "kill -9 $$", want: []string{"killed by SIGKILL"}},
		"nothing copied":  {mvn: "exit 0", want: []string{"maven did not copy db-1.2.jar"}},
		"another version": {mvn: copies, version: "1.3", want: []string{"maven did not copy db-1.3.jar", "for another release"}},
		"a bad jar": {mvn: copies, sums: strings.Replace(good, good[:8], "00000000", 1),
			want: []string{"bad checksum: db-1.2.jar"}},
		"a jar too many": {mvn: copies, sums: good[:strings.Index(good, "\n")+1], want: []string{"no checksum is given for dep-3.jar"}},
		"a jar too few":  {mvn: copies, sums: good + string(sha256Line([]byte("x"), "gone.jar")), want: []string{"maven did not copy gone.jar"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			scripts := map[string]string{"mvn": tt.mvn, "java": "exit 0"}
			if tt.noJava {
				delete(scripts, "java")
			}
			if tt.version == "" {
				tt.version = "1.2"
			}
			in := testInstaller(t)
			in.Lookup = fakeTools(t, scripts)
			way := recipe.Maven{POM: "<version>{version}</version>", Sums: tt.sums, Artifact: "org.example:db", Tool: "db"}
			r, err := in.Get(t.Context(), "db", tt.version, []recipe.Recipe{way})
			if tt.want != nil {
				wantError(t, err, tt.want...)
				noLeftovers(t, in)
				return
			}
			if err != nil {
				t.Fatalf("install the release: %v", err)
			}
			if got := read(t, filepath.Join(r.Files["db"], "dep-3.jar")); got != "two" {
				t.Errorf("the jar holds %q", got)
			}
			if got := read(t, filepath.Join(r.Dir, "pom.xml")); got != "<version>1.2</version>" {
				t.Errorf("the pom is %q", got)
			}
			if r.Source != "org.example:db:1.2" || (len(r.Notes) == 1) != (tt.sums == "") {
				t.Errorf("source %q, notes %q", r.Source, r.Notes)
			}
		})
	}
}
